import { describe, expect, test } from 'vitest';
import { DEFAULT_KEYS } from '../../src/api/annotations.ts';
import type { KindName } from '../../src/api/kinds.ts';
import type { SourceRef } from '../../src/api/sources.ts';
import { DELETE_MARK } from '../../src/domain/source/fingerprint.ts';
import { patchOf } from '../../src/domain/template/patch.ts';
import { type EditOptions, editTemplate, type NewMark } from '../../src/domain/template/template-edit.ts';
import { type Given, HASH_A, HASH_B, rowOf, workloadOf } from './given.ts';

const ref: SourceRef = { kind: 'ConfigMap', namespace: 'shop', name: 'foo' };
const spc: SourceRef = { kind: 'SecretProviderClass', namespace: 'shop', name: 'vault-db' };

const options = (how: Partial<EditOptions> = {}): EditOptions => ({
  compat: false,
  observedAt: 1_767_225_600,
  usedOrNamed: () => true,
  nudge: 'n-1',
  ...how,
});
const change = (mark: string, container = 0, of = ref): NewMark => ({ ref: of, container, mark, strategy: 'env-vars' });
const variable = (value: string, name = 'STAKATER_FOO_CONFIGMAP') => ({ name, value });

interface How extends Partial<EditOptions> {
  readonly strategy?: NewMark['strategy'];
}

function written(given: Given, changes: readonly NewMark[], { strategy = 'env-vars', ...how }: How = {}): unknown {
  const workload = workloadOf(given);
  const marks = changes.map((each) => ({ ...each, strategy }));
  const edit = editTemplate(workload, marks, options(how));
  return (
    edit &&
    JSON.parse(JSON.stringify(patchOf(rowOf(given.kind ?? 'Deployment'), workload, edit, { keys: DEFAULT_KEYS }).body))
  );
}

const fence = { metadata: { resourceVersion: '41' } };
const inContainer = (...env: unknown[]) => ({
  spec: { template: { spec: { containers: [{ name: 'app', env }] } } },
  ...fence,
});

describe('env-vars', () => {
  test.each<KindName>(['Deployment', 'DaemonSet', 'StatefulSet'])('%s: a strategic merge of one variable', (kind) => {
    const workload = workloadOf({ kind });
    const edit = editTemplate(workload, [change(HASH_A)], options());
    const patch = patchOf(rowOf(kind), workload, edit, { keys: DEFAULT_KEYS });
    expect(patch.type).toBe('strategic');
    expect(JSON.stringify(patch.body)).toBe(
      `{"spec":{"template":{"spec":{"containers":[{"name":"app","env":[{"name":"STAKATER_FOO_CONFIGMAP","value":"${HASH_A}"}]}]}}},"metadata":{"resourceVersion":"41"}}`,
    );
  });

  test('another value is set', () => {
    const pod = { containers: [{ name: 'app', env: [{ name: 'X', value: '1' }, variable(HASH_A)] }] };
    expect(written({ pod }, [change(HASH_B)])).toEqual(inContainer(variable(HASH_B)));
  });

  test('the same value is no update under compat', () => {
    const pod = { containers: [{ name: 'app', env: [variable(HASH_A)] }] };
    expect(written({ pod }, [change(HASH_A)], { compat: true })).toBeUndefined();
  });

  test('the same value in another container does not count', () => {
    const pod = { containers: [{ name: 'app' }, { name: 'b', env: [variable(HASH_A)] }] };
    expect(written({ pod }, [change(HASH_A)], { compat: true })).toEqual(inContainer(variable(HASH_A)));
  });

  test('a class that any container is marked with is no update under compat', () => {
    const mark = variable(HASH_A, 'STAKATER_VAULT_DB_SECRETPROVIDERCLASS');
    const pod = { containers: [{ name: 'app' }, { name: 'b', env: [mark] }] };
    expect(written({ pod }, [change(HASH_A, 0, spc)], { compat: true })).toBeUndefined();
    expect(written({ pod }, [change(HASH_B, 0, spc)], { compat: true })).toEqual(
      inContainer({ ...mark, value: HASH_B }),
    );
  });

  test('a deleted source takes its variable with it: by name, or by position under compat', () => {
    const pod = { containers: [{ name: 'app', env: [{ name: 'X', value: '1' }, variable(HASH_A)] }] };
    expect(written({ pod }, [change('deleted')])).toEqual(
      inContainer({ name: 'STAKATER_FOO_CONFIGMAP', $patch: 'delete' }),
    );
    expect(written({ pod }, [change('deleted')], { compat: true })).toEqual([
      { op: 'replace', path: '/metadata/resourceVersion', value: '41' },
      { op: 'test', path: '/spec/template/spec/containers/0/name', value: 'app' },
      { op: 'test', path: '/spec/template/spec/containers/0/env/1/name', value: 'STAKATER_FOO_CONFIGMAP' },
      { op: 'remove', path: '/spec/template/spec/containers/0/env/1' },
    ]);
    expect(written({}, [change('deleted')], { compat: true })).toBeUndefined();
  });

  test('a Rollout is patched position by position, each tested', () => {
    const pod = { containers: [{ name: 'a' }, { name: 'app', env: [variable(HASH_A)] }] };
    expect(written({ kind: 'Rollout', pod }, [change(HASH_B, 1)])).toEqual([
      { op: 'replace', path: '/metadata/resourceVersion', value: '41' },
      { op: 'test', path: '/spec/template/spec/containers/1/name', value: 'app' },
      { op: 'test', path: '/spec/template/spec/containers/1/env/0/name', value: 'STAKATER_FOO_CONFIGMAP' },
      { op: 'add', path: '/spec/template/spec/containers/1/env/0/value', value: HASH_B },
    ]);
    expect(written({ kind: 'Rollout', pod }, [change(HASH_B, 0)])).toEqual([
      { op: 'replace', path: '/metadata/resourceVersion', value: '41' },
      { op: 'test', path: '/spec/template/spec/containers/0/name', value: 'a' },
      { op: 'add', path: '/spec/template/spec/containers/0/env', value: [variable(HASH_B)] },
    ]);
  });

  test('a Rollout with strategy restart is told the time and nothing else', () => {
    const restartAt = '2026-01-31T12:00:00Z';
    const patch = patchOf(rowOf('Rollout'), workloadOf({ kind: 'Rollout' }), undefined, {
      keys: DEFAULT_KEYS,
      restartAt,
    });
    expect(patch).toEqual({ type: 'merge', body: { spec: { restartAt }, ...fence } });
  });
});

describe('annotations', () => {
  const text = `{"type":"CONFIGMAP","name":"foo","namespace":"shop","hash":"${HASH_A}","containerRefs":["app"],"observedAt":1767225600}`;
  const annotated = (value: string) => ({
    spec: { template: { metadata: { annotations: { 'reloader.stakater.com/last-reloaded-from': value } } } },
    ...fence,
  });

  test('a strategic merge of one annotation', () => {
    expect(written({}, [change(HASH_A)], { strategy: 'annotations' })).toEqual(annotated(text));
  });

  test('the same data at another time is written again', () => {
    const template = { 'reloader.stakater.com/last-reloaded-from': text };
    const later = { strategy: 'annotations', compat: true, observedAt: 1_767_225_601 } as const;
    expect(written({ template }, [change(HASH_A)], later)).toEqual(annotated(text.replace('600}', '601}')));
  });

  test('a class is not written again if name and hash are in the text already, under compat', () => {
    const last = `{"type":"SECRETPROVIDERCLASS","name":"vault-db","hash":"${HASH_A}"}`;
    const template = { 'reloader.stakater.com/last-reloaded-from': last };
    const compat = { strategy: 'annotations', compat: true } as const;
    expect(written({ template }, [change(HASH_A, 0, spc)], compat)).toBeUndefined();
    expect(written({ template }, [change(HASH_B, 0, spc)], compat)).toBeDefined();
  });

  test('a deleted source is written with the delete marker', () => {
    expect(written({}, [change('deleted')], { strategy: 'annotations' })).toEqual(
      annotated(text.replace(HASH_A, DELETE_MARK)),
    );
  });

  test('of several changes the last one is the cause', () => {
    const bar: SourceRef = { ...ref, name: 'bar' };
    expect(written({}, [change(HASH_B, 0, bar), change(HASH_A)], { strategy: 'annotations' })).toEqual(annotated(text));
  });

  test('a Rollout gets the parents that it lacks', () => {
    const path = '/spec/template/metadata';
    const key = 'reloader.stakater.com/last-reloaded-from';
    const strategy = 'annotations';
    expect(written({ kind: 'Rollout' }, [change(HASH_A)], { strategy })).toContainEqual({
      op: 'add',
      path,
      value: { annotations: { [key]: text } },
    });
    expect(written({ kind: 'Rollout', template: { a: 'b' } }, [change(HASH_A)], { strategy })).toContainEqual({
      op: 'add',
      path: `${path}/annotations/reloader.stakater.com~1last-reloaded-from`,
      value: text,
    });
  });
});

describe('beyond upstream', () => {
  test('data changed but the mark did not: the template is nudged', () => {
    const pod = { containers: [{ name: 'app', env: [variable(HASH_A)] }] };
    expect(written({ pod }, [change(HASH_A)])).toEqual({
      spec: { template: { metadata: { annotations: { 'attune.dev/nudge': 'n-1' } } } },
      ...fence,
    });
    expect(written({ pod, template: { 'attune.dev/nudge': 'n-1' } }, [change(HASH_A)])).toBeUndefined();
  });

  test('an orphaned variable goes with another edit, never alone and never under compat', () => {
    const orphan = variable(HASH_A, 'STAKATER_OLD_SECRET');
    const pod = { containers: [{ name: 'app', env: [orphan] }] };
    const usedOrNamed = (name: string) => name !== 'STAKATER_OLD_SECRET';
    expect(written({ pod }, [change(HASH_B)], { usedOrNamed })).toEqual(
      inContainer(variable(HASH_B), { name: 'STAKATER_OLD_SECRET', $patch: 'delete' }),
    );
    expect(written({ pod }, [change(HASH_B)], { usedOrNamed, compat: true })).toEqual(inContainer(variable(HASH_B)));
    expect(written({ pod }, [], { usedOrNamed })).toBeUndefined();
  });

  test('a variable of that name with another content is not an orphan', () => {
    const own = { name: 'STAKATER_OLD_SECRET', value: 'mine' };
    const pod = { containers: [{ name: 'app', env: [own] }] };
    expect(written({ pod }, [change(HASH_B)], { usedOrNamed: () => false })).toEqual(inContainer(variable(HASH_B)));
  });

  test('a CronJob that asked for its template gets it where its pods come from', () => {
    const template = { spec: { containers: [{ name: 'app', env: [variable(HASH_A)] }] } };
    expect(written({ kind: 'CronJob' }, [change(HASH_A)])).toEqual({
      spec: { jobTemplate: { spec: { template } } },
      ...fence,
    });
  });

  test('record, pause and mark ride in one write', () => {
    const workload = workloadOf({});
    const edit = editTemplate(workload, [change(HASH_A)], options());
    const pausedAt = '2026-01-31T12:00:00Z';
    expect(
      patchOf(rowOf('Deployment'), workload, edit, { keys: DEFAULT_KEYS, record: '{}', pause: { pausedAt } }).body,
    ).toEqual({
      spec: { template: { spec: { containers: [{ name: 'app', env: [variable(HASH_A)] }] } }, paused: true },
      metadata: {
        resourceVersion: '41',
        annotations: { 'attune.dev/record': '{}', 'deployment.reloader.stakater.com/paused-at': pausedAt },
      },
    });
  });
});
