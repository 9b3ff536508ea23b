import { expect, test } from 'vitest';
import { listOf } from '../../test/support/scripted-api.ts';
import { startClient } from '../../test/support/scripted-client.ts';
import { type KindName, kindNamed, type WorkloadKind } from '../api/kinds.ts';
import { makersOf } from './pod-makers.ts';

const madeBy = (owner: string, uid: string, labels: Readonly<Record<string, string>>) => ({
  metadata: {
    ...{ name: uid, namespace: 'shop', uid, labels, resourceVersion: '1' },
    ownerReferences: [{ controller: true, uid: owner }],
  },
});

/** A server that selects by labels, with what stands between workloads and pods labelled as their controllers do. */
async function makersFor(kind: KindName, owner: string) {
  const of = (name: string) => ({ 'openshift.io/deployment-config.name': name });
  const all: Readonly<Record<string, readonly ReturnType<typeof madeBy>[]>> = {
    replicasets: [
      madeBy('web', 'rs', { app: 'web' }),
      madeBy('other', 'alien', { app: 'web' }),
      madeBy('api', 'far', { app: 'api' }),
    ],
    replicationcontrollers: [madeBy('dc', 'rc', of('web')), madeBy('other', 'alien-rc', of('other'))],
  };
  const asked: string[] = [];
  const { client } = await startClient(({ path, query, json }) => {
    const selector = query.get('labelSelector') ?? '';
    const plural = path.split('/').at(-1) ?? '';
    asked.push(`${plural} ${selector}`.trim());
    const [key = '', value] = selector.split('=');
    const items = (all[plural] ?? []).filter(({ metadata }) => key === '' || metadata.labels[key] === value);
    return json(200, listOf(items, '9'));
  });
  const scope = { namespace: 'shop', labelSelector: 'app=web' };
  const found = await makersOf(client, kindNamed(kind) as WorkloadKind, scope, new Set([owner]));
  return { asked, uids: 'uids' in found ? [...found.uids] : found };
}

test('ReplicaSets have the labels of the pods that they make', async () => {
  expect(await makersFor('Deployment', 'web')).toEqual({ asked: ['replicasets app=web'], uids: ['rs'] });
});

test('ReplicationControllers of a DeploymentConfig have other labels than their pods', async () => {
  expect(await makersFor('DeploymentConfig', 'dc')).toEqual({ asked: ['replicationcontrollers'], uids: ['rc'] });
});
