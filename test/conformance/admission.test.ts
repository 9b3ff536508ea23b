import { describe, expect, test } from 'vitest';
import { SAP_LISTS } from '../../src/api/annotations.ts';
import type { KindName } from '../../src/api/kinds.ts';
import type { AdmissionRequest } from '../../src/domain/admission/request.ts';
import { admit, admitted, hashReader, kindOf, requestOf, rulesOf, STALE, writeOf } from './admission-given.ts';
import { HASH_A, HASH_B, objectOf } from './given.ts';

const listed = { metadata: { [SAP_LISTS.ConfigMap]: 'a' } };
const denial = (message: string) => ({ allowed: false, code: 400, message });
const untouched = { allowed: true, operations: [], warnings: [], hash: 'none' };
const OPERATIONS = 'this admission webhook may only be called for create/update operations';

describe.each([{ sapCompat: false }, { sapCompat: true }])('what cannot be handled, $sapCompat', (mode) => {
  const answerTo = (request: AdmissionRequest) => admit(request, rulesOf(mode), hashReader());

  test.each([
    [{ group: '', version: 'v1', kind: 'Pod' }, '/v1, Kind=Pod'],
    [{ group: 'apps', version: 'v1', kind: 'ReplicaSet' }, 'apps/v1, Kind=ReplicaSet'],
    [{ group: 'apps', version: 'v1beta1', kind: 'Deployment' }, 'apps/v1beta1, Kind=Deployment'],
    [{ group: 'batch', version: 'v1', kind: 'Job' }, 'batch/v1, Kind=Job'],
    [{ group: '', version: '', kind: '' }, '/, Kind='],
  ])('%j is no kind that is handled', async (kind, words) => {
    const answer = await answerTo(writeOf(listed, undefined, { kind }));
    expect(answer).toEqual(denial(`webhook called with unsupported object kind: ${words}`));
  });

  test.each([undefined, null, 'text', 1, []])('an object that is %j', async (object) => {
    const answer = await answerTo(requestOf(object));
    expect(answer).toEqual(denial('the request has no object: what is written is expected'));
  });

  test.each(['DELETE', 'CONNECT', 'update', ''])('operation %j', async (operation) => {
    const answer = await answerTo(writeOf(listed, listed, { operation }));
    expect(answer).toEqual(denial(OPERATIONS));
  });

  test('the first thing that is wrong is told', async () => {
    const pod = { group: '', version: 'v1', kind: 'Pod' };
    const missing = 'the request has no object: what is written is expected';
    expect(await answerTo(requestOf(null, {}, { kind: pod, operation: 'DELETE' }))).toMatchObject({
      message: expect.stringContaining('unsupported'),
    });
    expect(await answerTo(requestOf(null, {}, { operation: 'DELETE' }))).toEqual(denial(missing));
    expect(await answerTo(writeOf(listed, listed, { kind: kindOf('Job'), operation: 'DELETE' }))).toEqual(
      denial(OPERATIONS),
    );
  });

  test('a subresource is let through', async () => {
    const scale = { group: 'autoscaling', version: 'v1', kind: 'Scale' };
    expect(await answerTo(requestOf({}, {}, { kind: scale, subResource: 'scale' }))).toMatchObject(untouched);
    expect(await answerTo(writeOf(listed, listed, { subResource: 'status' }))).toMatchObject(untouched);
  });
});

describe('our own writes pass untouched', () => {
  const env = (value: string) => ({ containers: [{ name: 'app', env: [{ name: 'STAKATER_A_CONFIGMAP', value }] }] });
  const auto = { 'reloader.stakater.com/auto': 'true' };
  const old = { metadata: { ...auto, ...listed.metadata, 'attune.dev/record': '1' }, pod: env(HASH_A) };
  const sent = {
    metadata: { ...auto, ...listed.metadata, 'pod-reloader.cs.sap.com/config-hash': STALE },
    template: { 'pod-reloader.cs.sap.com/config-hash': STALE },
    pod: env(HASH_B),
  };

  test.each([{ fieldManager: 'Reloader' }, { username: 'system:serviceaccount:attune:attune' }])('%j', async (who) => {
    for (const sapCompat of [false, true]) {
      const readHash = hashReader();
      expect(await admit(writeOf(sent, old, who), rulesOf({ sapCompat }), readHash)).toMatchObject(untouched);
      expect(readHash.reads).toBe(0);
    }
  });

  test('nobody is us where we do not know who we are', async () => {
    const request = writeOf({ ...sent, metadata: auto }, old, { username: '' });
    expect((await admitted(request, { ownUsername: undefined })).answer.operations).not.toEqual([]);
  });
});

test.each<KindName>(['Deployment', 'StatefulSet', 'DaemonSet', 'CronJob', 'Rollout', 'DeploymentConfig'])(
  '%s: a field that nobody here knows survives',
  async (kind) => {
    const pod = { containers: [{ name: 'app', fromTheFuture: { a: [1] } }], newField: true };
    const request = writeOf({ kind, ...listed, pod });
    const { object, answer } = await admitted(request);
    expect(answer.operations).toHaveLength(1);
    const template = { 'pod-reloader.cs.sap.com/config-hash': 'c0'.repeat(32) };
    expect(object).toEqual(objectOf({ kind, ...listed, pod, template }));
  },
);

test('who asks for nothing gets nothing', async () => {
  const kinds: readonly KindName[] = ['Deployment', 'CronJob', 'Rollout'];
  for (const kind of kinds) {
    expect((await admitted(writeOf({ kind }))).answer).toMatchObject(untouched);
    expect((await admitted(writeOf({ kind }, {}))).answer).toMatchObject(untouched);
  }
});
