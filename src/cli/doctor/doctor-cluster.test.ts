import { expect, test } from 'vitest';
import { listOf } from '../../../test/support/scripted-api.ts';
import { startClient } from '../../../test/support/scripted-client.ts';
import { settings } from '../../../test/support/settings.ts';
import { readCluster } from './doctor-cluster.ts';

const named = (namespace: string, name: string, labels: object = {}) => ({
  metadata: { namespace, name, uid: name, resourceVersion: '1', labels },
});

test('the sources of a namespace are put together once, without those that a selector leaves out', async () => {
  const configMaps = [named('shop', 'app', { reload: 'yes' }), named('shop', 'other'), named('blog', 'text')];
  const { client } = await startClient(({ path, json }) =>
    json(200, listOf(path === '/api/v1/configmaps' ? configMaps : [], '1')),
  );
  const { sourcesOf } = await readCluster(client, settings(['--resource-label-selector=reload=yes']));
  const shop = sourcesOf('shop');
  expect(shop.ConfigMap.map(({ ref }) => ref.name)).toEqual(['app']);
  expect(sourcesOf('blog').ConfigMap).toEqual([]);
  expect(sourcesOf('shop')).toBe(shop);
});

test('who borrows a template is known with whose it is', async () => {
  const spec = { workloadRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' } };
  const rollout = { ...named('shop', 'canary'), spec };
  const objects: Readonly<Record<string, readonly object[]>> = {
    '/apis/apps/v1/deployments': [named('shop', 'web'), named('blog', 'web')],
    '/apis/apps/v1/statefulsets': [named('shop', 'web')],
    '/apis/argoproj.io/v1alpha1/rollouts': [rollout],
  };
  const { client } = await startClient(({ path, json }) => json(200, listOf(objects[path] ?? [], '1')));
  const { workloads } = await readCluster(client, settings(['--is-Argo-Rollouts=true']));
  const lent = workloads.filter(({ borrowers }) => borrowers.length > 0);
  expect(lent.map(({ kind, object }) => [kind.kind, object.metadata.namespace])).toEqual([['Deployment', 'shop']]);
  expect(lent[0]?.borrowers).toMatchObject([rollout]);
});
