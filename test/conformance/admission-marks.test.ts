import { describe, expect, test } from 'vitest';
import { DEFAULT_KEYS, LAST_RELOADED_FROM, NUDGE, RECORD } from '../../src/api/annotations.ts';
import { admitted, requestOf, writeOf } from './admission-given.ts';
import { type Given, HASH_A, HASH_B, objectOf } from './given.ts';

const AUTO = { [DEFAULT_KEYS.auto]: 'true' };
const FOO = { name: 'STAKATER_FOO_CONFIGMAP', value: HASH_A };
const BAR = { name: 'STAKATER_BAR_SECRET', value: HASH_A };
const X = { name: 'X', value: '1' };
const Y = { name: 'Y', value: '2' };
const ENV = '/spec/template/spec/containers/0/env';

const pod = (...env: readonly unknown[]) => ({ containers: [{ name: 'app', env }] });
const asking = (given: Given): Given => ({ metadata: AUTO, ...given });

async function written(given: Given, old: Given, rules: object = {}) {
  const { object, answer } = await admitted(writeOf(asking(given), asking(old)), rules);
  return { ...answer, object };
}

describe('a writer that knows nothing of marks', () => {
  test.each(['Deployment', 'StatefulSet', 'DaemonSet', 'CronJob', 'Rollout', 'DeploymentConfig'] as const)(
    '%s: changes nothing',
    async (kind) => {
      const stored = {
        kind,
        metadata: { ...AUTO, [RECORD]: '{"v":1}' },
        template: { [LAST_RELOADED_FROM]: '{}', [NUDGE]: 'n' },
        pod: { containers: [{ name: 'app', env: [FOO, X] }, { name: 'b', env: [BAR] }, { name: 'c' }] },
      };
      const plain = { containers: [{ name: 'app', env: [X] }, { name: 'b' }, { name: 'c' }] };
      const { object, warnings, restored } = await written({ kind, pod: plain }, stored);
      expect(object).toEqual(objectOf(asking(stored)));
      expect(restored).toEqual({ variables: 2, annotations: 2, record: 1 });
      expect(warnings).toEqual([]);
    },
  );

  test.each<[string, readonly unknown[], readonly unknown[], unknown]>([
    ['first', [X, Y], [FOO, X, Y], { op: 'add', path: `${ENV}/0`, value: FOO }],
    ['in the middle', [X, Y], [X, FOO, Y], { op: 'add', path: `${ENV}/1`, value: FOO }],
    ['last', [X, Y], [X, Y, FOO], { op: 'add', path: `${ENV}/2`, value: FOO }],
    ['beside another that was kept', [X, BAR], [FOO, X, BAR], { op: 'add', path: `${ENV}/0`, value: FOO }],
    ['several', [X], [FOO, X, BAR], { op: 'replace', path: ENV, value: [FOO, X, BAR] }],
    ['into an empty list', [], [FOO], { op: 'add', path: `${ENV}/0`, value: FOO }],
  ])('gets the mark where it stood: %s', async (_, sent, stored, operation) => {
    const { operations, object } = await written({ pod: pod(...sent) }, { pod: pod(...stored) });
    expect(operations).toEqual([operation]);
    expect(object).toEqual(objectOf(asking({ pod: pod(...stored) })));
  });

  test.each([undefined, null])('gets a list of variables where it has %j', async (env) => {
    const sent = { containers: [{ name: 'app', env }] };
    const { operations } = await written({ pod: sent }, { pod: pod(FOO) });
    expect(operations).toEqual([{ op: 'add', path: ENV, value: [FOO] }]);
  });

  test('may have fewer variables than before: the mark is the last one then', async () => {
    const { object } = await written({ pod: pod(X) }, { pod: pod(X, Y, FOO) });
    expect(object).toEqual(objectOf(asking({ pod: pod(X, FOO) })));
  });

  test('may have other containers: marks are where their container is, and gone with it', async () => {
    const stored = {
      containers: [
        { name: 'app', env: [FOO] },
        { name: 'gone', env: [BAR] },
      ],
    };
    const sent = { containers: [{ name: 'new', env: [X] }, { name: 'app' }] };
    const wanted = {
      containers: [
        { name: 'new', env: [X] },
        { name: 'app', env: [FOO] },
      ],
    };
    expect((await written({ pod: sent }, { pod: stored })).object).toEqual(objectOf(asking({ pod: wanted })));
  });

  test('keeps its own variable of such a name', async () => {
    const own = { ...FOO, value: 'mine' };
    expect((await written({ pod: pod(own) }, { pod: pod(own, BAR) })).object).toEqual(
      objectOf(asking({ pod: pod(own, BAR) })),
    );
    // Nor is it given twice.
    expect((await written({ pod: pod(own) }, { pod: pod(FOO) })).operations).toEqual([]);
  });
});

describe('a writer that sends old marks (dump, undo)', () => {
  const CURE = expect.stringContaining('--field-manager=Reloader');

  test('T6: gets the stored ones, and is told', async () => {
    const { object, operations, warnings, restored } = await written(
      { pod: pod(X, { ...FOO, value: HASH_B }) },
      { pod: pod(X, FOO) },
    );
    expect(object).toEqual(objectOf(asking({ pod: pod(X, FOO) })));
    expect(operations).toEqual([{ op: 'replace', path: `${ENV}/1`, value: FOO }]);
    expect(warnings).toEqual([expect.stringContaining('STAKATER_FOO_CONFIGMAP'), CURE]);
    expect(restored).toEqual({ variables: 1, annotations: 0, record: 0 });
  });

  test('loses marks that are not stored, with the list or the map that held nothing else', async () => {
    const stored = { metadata: { ...AUTO, [RECORD]: '1' }, pod: { containers: [{ name: 'app' }] } };
    const sent = { ...stored, template: { [NUDGE]: 'old' }, pod: pod(FOO) };
    const { object, warnings } = await written(sent, stored);
    expect(object['spec']).toEqual({ template: { metadata: {}, spec: stored.pod } });
    expect(warnings).toEqual([expect.stringMatching(/STAKATER_FOO_CONFIGMAP and 1 more$/), CURE]);
    const { operations } = await written({ ...stored, pod: pod(X, FOO) }, { ...stored, pod: pod(X) });
    expect(operations).toEqual([{ op: 'remove', path: `${ENV}/1` }]);
  });

  test('gets annotations and record back', async () => {
    const texts = (text: string): Given => ({
      metadata: { ...AUTO, [RECORD]: text },
      template: { [LAST_RELOADED_FROM]: text, [NUDGE]: text, other: 'x' },
    });
    const { object, operations, warnings } = await written(texts('old'), texts('stored'));
    expect(object).toEqual(objectOf(texts('stored')));
    expect(operations).toHaveLength(3);
    expect(operations[0]).toEqual({ op: 'add', path: '/metadata/annotations/attune.dev~1record', value: 'stored' });
    for (const warning of warnings) expect(warning.length).toBeLessThanOrEqual(120);
  });

  test('is told in two short lines, however many there are and however long', async () => {
    const many = Array.from({ length: 1000 }, (_, at) => ({
      ...FOO,
      name: `STAKATER_${'A'.repeat(300)}_${at}_SECRET`,
    }));
    const { warnings } = await written(
      { pod: pod(...many.map((mark) => ({ ...mark, value: HASH_B }))) },
      { pod: pod(...many) },
    );
    expect(warnings).toHaveLength(2);
    for (const warning of warnings) expect(warning.length).toBeLessThanOrEqual(120);
  });

  test('one that only moved is put back without a word', async () => {
    const { object, warnings } = await written({ pod: pod(FOO, X) }, { pod: pod(X, FOO) });
    expect(object).toEqual(objectOf(asking({ pod: pod(X, FOO) })));
    expect(warnings).toEqual([]);
  });
});

describe('nothing comes back', () => {
  const stored = { pod: pod(FOO, X) };
  const sent = { pod: pod(X) };

  test('after an opt-out', async () => {
    expect((await written({ ...sent, metadata: {} }, stored)).operations).toEqual([]);
    const refused = { [DEFAULT_KEYS.auto]: 'false' };
    expect((await written({ ...sent, metadata: refused }, stored)).operations).toEqual([]);
  });

  test.each([1, 2])(
    'unless a ReloaderConfig asks, as a record of version %d says; but the workload may refuse',
    async (v) => {
      const record = JSON.stringify({ v, uid: 'u', seq: 1, key: 'k', template: 't', sources: {}, configs: true });
      const asked = { ...stored, metadata: { [RECORD]: record } };
      expect((await written({ ...sent, metadata: {} }, asked)).operations).toHaveLength(2);
      const refused = { [DEFAULT_KEYS.auto]: 'false' };
      expect((await written({ ...sent, metadata: refused }, asked)).operations).toEqual([]);
    },
  );

  test('at birth', async () => {
    const request = { ...requestOf(objectOf(asking(sent))), oldObject: objectOf(asking(stored)) };
    expect((await admitted(request)).answer.operations).toEqual([]);
  });

  test('where it is switched off', async () => {
    expect((await written(sent, stored, { marks: false })).operations).toEqual([]);
  });

  test("where nothing was stored: what is sent is the writer's", async () => {
    expect((await written(stored, sent)).operations).toEqual([]);
  });

  test("but under compat, where marks came without an ask of the workload's own", async () => {
    const request = writeOf(sent, stored);
    expect((await admitted(request)).answer.operations).toEqual([]);
    expect((await admitted(request, { compat: true })).answer.operations).toHaveLength(1);
  });
});

test('marks and hash come in one map where there is none', async () => {
  const lists = { 'pod-reloader.cs.sap.com/configmaps': 'a' };
  const hash = { 'pod-reloader.cs.sap.com/config-hash': 'stored' };
  const { operations } = await written({ metadata: lists }, { metadata: lists, template: { ...hash, [NUDGE]: 'n' } });
  expect(operations).toEqual([
    { op: 'add', path: '/spec/template/metadata', value: { annotations: { ...hash, [NUDGE]: 'n' } } },
  ]);
});

test('a thousand containers', async () => {
  const containers = Array.from({ length: 1000 }, (_, at) => ({ name: `c${at}`, env: [X] }));
  const marked = containers.map((container) => ({ ...container, env: [FOO, X] }));
  const { object, operations } = await written({ pod: { containers } }, { pod: { containers: marked } });
  expect(object).toEqual(objectOf(asking({ pod: { containers: marked } })));
  expect(operations).toHaveLength(1000);
});
