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
