import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { CONFIG_HASH, DEFAULT_KEYS, NUDGE, SAP_DISABLING_LABELS, SAP_LISTS } from '../../src/api/annotations.ts';
import type { KindName } from '../../src/api/kinds.ts';
import type { SourceKind, SourceRef } from '../../src/api/sources.ts';
import { judge } from '../../src/domain/judge/judge.ts';
import type { Policy } from '../../src/domain/judge/verdict.ts';
import { ABSENT } from '../../src/domain/ledger/applied.ts';
import { sourceId } from '../../src/domain/ledger/source-id.ts';
import type { Change } from '../../src/domain/outcome/change.ts';
import { planWrite } from '../../src/domain/plan/write-plan.ts';
import type { Source } from '../../src/domain/source/source.ts';
import { WorkloadState } from '../../src/domain/state/workload-state.ts';
import { jobFromCronJob } from '../../src/domain/template/job.ts';
import { patchOf } from '../../src/domain/template/patch.ts';
import { createConfigHash } from '../../src/model/config-hash.ts';
import { SourceHistory } from '../../src/model/sources/source-history.ts';
import { rulesOf } from '../support/engine-world.ts';
import { digest, type Given, HASH_A, objectOf, policyOf, rowOf, workloadOf } from './given.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const ref = (name: string, kind: SourceKind = 'ConfigMap'): SourceRef => ({ kind, namespace: 'shop', name });
const held = (of: SourceRef, uid: string, version: string, exact = `data of ${of.name}`): Source => ({
  ...{ ref: of, uid, resourceVersion: version, fingerprint: { exact, mark: HASH_A } },
  ...{ ignored: false, matchable: false, labels: {} },
});

/** The specification's realistic set. */
const APP = held(ref('app-config'), '3f2b6a5e-8c1d-4b1f-9a55-0d6f2a9c1e10', '48213');
const DB = held(ref('db', 'Secret'), '9b7c1d2e-4f5a-4c3b-8d21-77aa10fe4402', '77');
const TLS = held(ref('tls', 'Secret'), 'c0ffee00-1234-4abc-9def-000000000001', '1002');
const V4 = 'dadf3bb58622f672d26c8e4d4aaf1f5fe9c9c37b79a17667effe44e9d4f3d067';
const LISTS = { [SAP_LISTS.ConfigMap]: 'app-config', [SAP_LISTS.Secret]: 'db,tls' };

interface Scene extends Given {
  readonly sources?: readonly Source[];
  /** No key can be kept. */
  readonly isKeyless?: boolean;
  readonly policy?: Partial<Policy>;
}

/** What is written for changes of these sources, as the body of the PATCH. */
function written(scene: Scene, ...changed: readonly SourceRef[]) {
  const { sapCompat = false, compat = false, sources = [APP, DB, TLS], isKeyless = false } = scene;
  const policy = policyOf({ sapCompat, compat, ...scene.policy });
  const history = new SourceHistory();
  for (const source of sources) history.put(source, false);
  const workload = workloadOf({ metadata: LISTS, ...scene });
  const state = new WorkloadState(workload, rulesOf(history, sapCompat));
  const changes = changed.map((of): Change => {
    const verdict = judge(workload, { ref: of, ignored: false, matchable: false }, policy);
    if (!verdict.reload) throw new Error(verdict.rule);
    const current = history.current(of);
    const difference = current === ABSENT ? 'deleted' : 'changed';
    const mark = history.get(of)?.fingerprint?.mark;
    return { id: sourceId(of), ref: of, verdict, difference, current, since: 1, mark };
  });
  const plan = planWrite(state, changes, {
    policy,
    shorten: (text) => sha256(text).slice(0, 20),
    now: 0,
    isPaused: false,
    configHash: createConfigHash({
      ...{ sources: history, isAbsent: () => true },
      contentHash: sapCompat || isKeyless ? undefined : digest,
    }).known,
  });
  if (!('edit' in plan)) return plan.do;
  const kind = rowOf(scene.kind ?? 'Deployment');
  if (plan.do === 'run') return jobFromCronJob(objectOf({ metadata: LISTS, ...scene }), plan.edit, {});
  return JSON.parse(JSON.stringify(patchOf(kind, workload, plan.edit, { keys: policy.keys, record: 'r' }).body));
}

const hashIn = (body: {
  spec: { template: { metadata: { annotations: Record<string, string> } } };
}): string | undefined => body.spec.template.metadata.annotations[CONFIG_HASH];

const CONTENT = digest.configHash(
  'configmap/shop/app-config/data of app-config\nsecret/shop/db/data of db\nsecret/shop/tls/data of tls\n',
);

describe('what is written', () => {
  test('the hash and the record in one PATCH, no token and nothing else', () => {
    expect(written({}, APP.ref)).toEqual({
      spec: { template: { metadata: { annotations: { [CONFIG_HASH]: CONTENT } } } },
      metadata: { resourceVersion: '41', annotations: { 'attune.dev/record': 'r' } },
    });
  });

  test.each<KindName>(['Deployment', 'StatefulSet', 'DaemonSet'])('%s, as SAP: the digest by version', (kind) => {
    expect(hashIn(written({ kind, sapCompat: true }, DB.ref))).toBe(V4);
  });

  test('as SAP, names are not trimmed, and each comma counts', () => {
    const blank = { [SAP_LISTS.ConfigMap]: 'app-config', [SAP_LISTS.Secret]: 'db, tls' };
    const body = written({ metadata: blank, sapCompat: true }, DB.ref);
    expect(hashIn(body)).toBe('a1cd9a83b006374eed13d1935773631ab98b1c8f52420d7fc3ee1c5465073f0f');
    const comma = { [SAP_LISTS.ConfigMap]: 'app-config,' };
    expect(hashIn(written({ metadata: comma, sapCompat: true }, APP.ref))).toBe(
      '6d191ff758ecbf18ed47bf276c1b86f5006ca65e83fb349bfe6f53d101525528',
    );
    expect(hashIn(written({ metadata: blank }, DB.ref))).toBe(CONTENT);
  });

  test('deleted: an empty line', () => {
    const body = written({ sources: [DB, TLS], sapCompat: true }, APP.ref);
    expect(hashIn(body)).toBe('8d6272388244f26bb7429c958da2a8358a4ba22dbff56fd21e9a1f7ccf78abba');
  });

  test('without a key that is a secret all is told by version, as SAP; and with one, what nobody could read', () => {
    expect(hashIn(written({ isKeyless: true }, APP.ref))).toBe(V4);
    const byVersion = `secret/shop/db/${DB.uid}.77\nsecret/shop/tls/${TLS.uid}.1002\n`;
    const expected = digest.configHash(`configmap/shop/app-config/data of app-config\n${byVersion}`);
    const unread = [DB, TLS].map((source) => ({ ...source, fingerprint: undefined }));
    expect(hashIn(written({ sources: [APP, ...unread] }, APP.ref))).toBe(expected);
  });

  test('a Rollout gets it by JSON Patch, a CronJob in the Job that it runs', () => {
    expect(written({ kind: 'Rollout' }, APP.ref)).toContainEqual({
      op: 'add',
      path: '/spec/template/metadata',
      value: { annotations: { [CONFIG_HASH]: CONTENT } },
    });
    expect(hashIn(written({ kind: 'CronJob' }, APP.ref))).toBe(CONTENT);
  });
});

describe('a hash that is there already', () => {
  test('a nudge makes the template new; as SAP there is nothing to write', () => {
    const { annotations } = written({ template: { [CONFIG_HASH]: CONTENT } }, APP.ref).spec.template.metadata;
    expect(Object.keys(annotations)).toEqual([NUDGE]);
    expect(written({ template: { [CONFIG_HASH]: V4 }, sapCompat: true }, APP.ref)).toBe('skip');
  });

  test('it is written over', () => {
    expect(hashIn(written({ template: { [CONFIG_HASH]: 'older' } }, APP.ref))).toBe(CONTENT);
  });
});

describe('both dialects', () => {
  const other = held(ref('other'), 'o', '1');
  const metadata = { ...LISTS, [DEFAULT_KEYS.named.ConfigMap]: 'other,app-config' };
  const sources = [APP, DB, TLS, other];
  const variables = (body: ReturnType<typeof written>): string[] =>
    (body.spec.template.spec?.containers[0].env ?? []).map(({ name }: { name: string }) => name);

  test('changes of both go in one PATCH, each with its mark', () => {
    const body = written({ metadata, sources }, other.ref, DB.ref);
    expect(variables(body)).toEqual(['STAKATER_OTHER_CONFIGMAP']);
    expect(hashIn(body)).toBe(CONTENT);
  });

  test('what Stakater asks for and SAP lists moves the hash too', () => {
    const body = written({ metadata, sources }, APP.ref);
    expect(variables(body)).toEqual(['STAKATER_APP_CONFIG_CONFIGMAP']);
    expect(hashIn(body)).toBe(CONTENT);
  });

  test('what is not listed leaves it alone, and so do lists that a label switches off', () => {
    expect(written({ metadata, sources }, other.ref).spec.template.metadata).toBeUndefined();
    const labels = { [SAP_DISABLING_LABELS[0]]: 'true' };
    expect(written({ metadata, sources, labels }, APP.ref).spec.template.metadata).toBeUndefined();
  });

  test('as Stakater and not as SAP: the hash may have a nudge, the variable has none', () => {
    const template = { [CONFIG_HASH]: CONTENT };
    expect(Object.keys(written({ compat: true, template }, DB.ref).spec.template.metadata.annotations)).toEqual([
      NUDGE,
    ]);
    const pod = { containers: [{ name: 'app', env: [{ name: 'STAKATER_OTHER_CONFIGMAP', value: HASH_A }] }] };
    expect(written({ compat: true, metadata, sources, pod }, other.ref)).toBe('skip');
  });
});
