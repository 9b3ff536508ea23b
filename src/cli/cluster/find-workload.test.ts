import { expect, test } from 'vitest';
import { rowOf } from '../../../test/conformance/given.ts';
import { startClient } from '../../../test/support/scripted-client.ts';
import { PODS } from '../../api/resources.ts';
import { findWorkload } from './find-workload.ts';

const object = (name: string, owner?: readonly [apiVersion: string, kind: string, name: string]) => ({
  metadata: {
    namespace: 'shop',
    name,
    uid: name,
    resourceVersion: '1',
    ownerReferences: owner && [{ apiVersion: owner[0], kind: owner[1], name: owner[2], controller: true }],
  },
});

/** The place where these can be read, and nothing else. */
async function place(objects: Readonly<Record<string, object>>) {
  const { client } = await startClient(({ path, json, status }) => {
    const found = objects[path.split('/').slice(-2).join('/')];
    if (found) json(200, found);
    else status(403, 'Forbidden');
  });
  return { client, namespace: 'shop' };
}

test('a workload that was named is meant, whether or not its owner can be read', async () => {
  const run = object('run', ['batch/v1', 'CronJob', 'nightly']);
  const found = await findWorkload(await place({ 'jobs/run': run }), { kind: rowOf('Job'), name: 'run' });
  expect(found).toEqual({ kind: rowOf('Job'), object: run, notes: [] });
});

test('a pod leads to its workload by those in between', async () => {
  const at = await place({
    'pods/web-1': object('web-1', ['apps/v1', 'ReplicaSet', 'web-rs']),
    'replicasets/web-rs': object('web-rs', ['apps/v1', 'Deployment', 'web']),
    'deployments/web': object('web'),
  });
  const { kind, notes } = await findWorkload(at, { kind: PODS, name: 'web-1' });
  expect([kind.kind, notes]).toEqual(['Deployment', ['Pod web-1 is of ReplicaSet web-rs, of Deployment web']]);
});
