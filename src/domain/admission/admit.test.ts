import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  admit,
  admitted,
  CONTENT,
  hashReader,
  kindOf,
  requestOf,
  rulesOf,
  STALE,
  VERSIONS,
} from '../../../test/conformance/admission-given.ts';
import { HASH_A, HASH_B, rowOf } from '../../../test/conformance/given.ts';
import { CONFIG_HASH, DEFAULT_KEYS, LAST_RELOADED_FROM, NUDGE, RECORD, SAP_LISTS } from '../../api/annotations.ts';
import { canonicalText, type JsonObject, listIn, objectAt, objectIn } from '../../api/json.ts';
import type { KindName } from '../../api/kinds.ts';
import { isMarkVariable } from '../template/marks.ts';

const KINDS: readonly KindName[] = ['Deployment', 'StatefulSet', 'DaemonSet', 'CronJob', 'Rollout', 'DeploymentConfig'];

const perhaps = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 4 });
const orNull = <T>(value: fc.Arbitrary<T>) => fc.oneof({ weight: 8, arbitrary: value }, fc.constant(null));

const mark = fc.record({
  name: fc.constantFrom('STAKATER_A_CONFIGMAP', 'STAKATER_B_SECRET', 'STAKATER_C_SECRETPROVIDERCLASS'),
  value: fc.constantFrom(HASH_A, HASH_B, 'c'.repeat(40)),
});
const variable = fc.oneof(
  { weight: 3, arbitrary: mark },
  { weight: 3, arbitrary: fc.record({ name: fc.constantFrom('X', 'Y', 'Z'), value: fc.constantFrom('1', '2') }) },
  fc.constantFrom({ name: 'STAKATER_A_CONFIGMAP', value: 'mine' }, { name: 'STAKATER_B_SECRET', valueFrom: {} }),
  fc.constantFrom(null, 5, 'X', {}, []),
);
const env = perhaps(
  orNull(fc.oneof({ weight: 9, arbitrary: fc.array(variable, { maxLength: 6 }) }, fc.constant('odd'))),
);
const container = orNull(
  fc.record({ name: fc.constantFrom('a', 'b', 'c', ''), image: fc.constantFrom('v1', 'v2'), env }),
);
const containers = perhaps(orNull(fc.array(container, { maxLength: 5 })));

const annotations = (...keys: readonly string[]) =>
  perhaps(
    fc.oneof(
      { weight: 9, arbitrary: fc.dictionary(fc.constantFrom('other', ...keys), text, { noNullPrototype: true }) },
      fc.constantFrom(null, 'odd', {}),
    ),
  );
const text = fc.oneof({ weight: 9, arbitrary: fc.constantFrom('', 'one', 'two', STALE) }, fc.constantFrom(null, 7));

/** Without what is undefined, as it comes over the wire. */
const asSent = (value: unknown): JsonObject => JSON.parse(JSON.stringify(value)) as JsonObject;

function objectOf(kind: KindName, own: unknown, podTemplate: unknown): JsonObject {
  const inner = rowOf(kind).templatePath.reduceRight<unknown>((value, member) => ({ [member]: value }), podTemplate);
  return asSent({ metadata: { annotations: own }, ...(inner as object) });
}

const template = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      metadata: perhaps(orNull(fc.record({ annotations: annotations(LAST_RELOADED_FROM, NUDGE, CONFIG_HASH) }))),
      spec: fc.record({ containers }),
    }),
  },
  fc.constantFrom(undefined, null, {}, 'odd', { spec: null }),
);

const pair = fc.record({
  kind: fc.constantFrom(...KINDS),
  own: annotations(RECORD),
  oldOwn: annotations(RECORD),
  template,
  oldTemplate: template,
});

const annotationsOf = (owner: JsonObject) => objectAt(owner, ['metadata', 'annotations']);
const textOf = (owner: JsonObject, key: string) => {
  const value = annotationsOf(owner)[key];
  return typeof value === 'string' ? value : undefined;
};
const containersOf = (owner: JsonObject) => listIn(objectIn(owner['spec'])['containers']);
const isMissing = (value: unknown) => value === undefined || value === null;
const isFit = (value: unknown) => isMissing(value) || objectIn(value) === value;

/** What is of another type cannot be given a mark. */
const isTaker = (owner: JsonObject) =>
  Object.keys(owner).length > 0 && isFit(owner['metadata']) && isFit(objectIn(owner['metadata'])['annotations']);

const MARKS = [LAST_RELOADED_FROM, NUDGE, RECORD];

/** Without marks. What may be there only because of one is always there, if need be empty. */
function bareMetadata(owner: JsonObject): unknown {
  if (!isTaker(owner)) return owner['metadata'];
  const entries = Object.entries(annotationsOf(owner));
  const rest = entries.filter(([key]) => !MARKS.includes(key));
  return { ...objectIn(owner['metadata']), annotations: Object.fromEntries(rest) };
}

function bareContainer(each: unknown): unknown {
  const { env: list } = objectIn(each) as Record<string, unknown>;
  if (objectIn(each) !== each || !(isMissing(list) || Array.isArray(list))) return each;
  return { ...each, env: listIn(list).filter((entry) => !isMarkVariable(entry)) };
}

/** Everything but the marks. */
function withoutMarks(object: JsonObject, kind: KindName): string {
  const path = rowOf(kind).templatePath;
  const found = objectAt(object, path);
  const bare = { ...found, metadata: bareMetadata(found), containers: containersOf(found).map(bareContainer) };
  const copy = structuredClone(object);
  for (const each of containersOf(objectAt(copy, path))) delete (objectIn(each) as Record<string, unknown>)['env'];
  delete (objectAt(copy, path) as Record<string, unknown>)['metadata'];
  return canonicalText([
    { ...copy, metadata: bareMetadata(object) },
    { ...bare, spec: null },
  ]);
}

const nameIn = (entry: unknown) => objectIn(entry)['name'];
const marksOf = (each: unknown) =>
  [...listIn(objectIn(each)['env']).entries()].filter(([, entry]) => isMarkVariable(entry));

/** The marks that a container is to have, each with its position, by what was stored for it. */
function expectedMarks(sent: unknown, stored: unknown): readonly [number, unknown][] {
  const rest = listIn(objectIn(sent)['env']).filter((entry) => !isMarkVariable(entry));
  const free = marksOf(stored).filter(([, entry]) => !rest.some((own) => nameIn(own) === nameIn(entry)));
  return free.map(([index, entry], before) => [Math.min(index, rest.length + before), entry]);
}

function expectMarks(result: JsonObject, sent: JsonObject, stored: JsonObject): void {
  for (const key of isTaker(sent) ? MARKS : []) expect(textOf(result, key)).toBe(textOf(stored, key));
  for (const [at, each] of containersOf(sent).entries()) {
    const { name, env: list } = objectIn(each) as Record<string, unknown>;
    if (each === null || list === 'odd') continue;
    const old = containersOf(stored).find((other) => (nameIn(other) ?? '') === name);
    expect(marksOf(containersOf(result)[at])).toEqual(expectedMarks(each, old));
  }
}

const isMarked = (owner: JsonObject) =>
  MARKS.some((key) => textOf(owner, key) !== undefined) || containersOf(owner).some((each) => marksOf(each).length > 0);

describe('for any two objects', () => {
  const rules = { autoReloadAll: true };

  test('the result is the stored one in its marks, and the sent one in all else', async () => {
    await fc.assert(
      fc.asyncProperty(pair, async ({ kind, own, oldOwn, ...templates }) => {
        const sent = objectOf(kind, own, templates.template);
        const stored = objectOf(kind, oldOwn, templates.oldTemplate);
        const { object, answer } = await admitted(requestOf(sent, stored, { kind: kindOf(kind) }), rules);
        const templateOf = (owner: unknown) => objectAt(owner, rowOf(kind).templatePath);
        expect(withoutMarks(objectIn(object), kind)).toBe(withoutMarks(sent, kind));
        if (isMarked(stored) || isMarked(templateOf(stored))) {
          expectMarks(objectIn(object), sent, stored);
          expectMarks(templateOf(object), templateOf(sent), templateOf(stored));
        } else expect(answer.operations).toEqual([]);
      }),
      { numRuns: 3000 },
    );
  });

  test('a second look changes nothing, whatever the hash, the token and the mode', async () => {
    const hash = perhaps(fc.constantFrom(CONTENT, VERSIONS, STALE));
    const lists = fc.record({
      [SAP_LISTS.ConfigMap]: perhaps(fc.constantFrom('a', 'a, b', ' ')),
      [CONFIG_HASH]: fc.option(fc.constantFrom(CONTENT, VERSIONS), { nil: undefined, freq: 1 }),
      [DEFAULT_KEYS.auto]: perhaps(fc.constantFrom('true', 'false')),
      [RECORD]: perhaps(fc.constantFrom('one', 'two')),
    });
    const hashed = fc.record({
      metadata: fc.record({ annotations: fc.record({ [CONFIG_HASH]: hash, [NUDGE]: perhaps(fc.constant('n')) }) }),
      spec: fc.record({ containers }),
    });
    const modes = fc.record({ compat: fc.boolean(), sapCompat: fc.boolean(), autoReloadAll: fc.boolean() });
    const readHash = hashReader();
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...KINDS),
        fc.tuple(lists, hashed),
        fc.option(fc.tuple(lists, hashed), { nil: undefined }),
        modes,
        async (kind, [own, sent], old, mode) => {
          const stored = old && objectOf(kind, ...old);
          const request = requestOf(objectOf(kind, own, sent), stored, { kind: kindOf(kind) });
          if (!(await admit(request, rulesOf(mode), readHash)).allowed) return;
          const { object } = await admitted(request, mode, readHash);
          const again = await admitted({ ...request, object }, mode, readHash);
          expect(again.answer).toMatchObject({ operations: [], warnings: [] });
        },
      ),
      { numRuns: 2000 },
    );
    expect(readHash.reads).toBeGreaterThan(0);
  });

  test('who changes nothing but marks and hash changes nothing', async () => {
    const entry = fc.oneof(mark, fc.record({ name: fc.constantFrom('X', 'Y'), value: fc.constantFrom('1', '2') }));
    const list = fc.array(fc.array(entry, { maxLength: 6 }), { minLength: 1, maxLength: 4 });
    const marks = fc.array(fc.tuple(fc.nat(6), mark), { maxLength: 3 });
    const texts = fc.record({ [NUDGE]: perhaps(fc.constant('n')), [CONFIG_HASH]: perhaps(fc.constant(STALE)) });
    await fc.assert(
      fc.asyncProperty(list, marks, texts, texts, async (lists, others, sentTexts, storedTexts) => {
        const own = { [SAP_LISTS.Secret]: 'db', [RECORD]: '1' };
        const build = (map: object, change: (variables: readonly unknown[]) => readonly unknown[]) =>
          objectOf('Deployment', own, {
            metadata: { annotations: { a: '1', ...map } },
            spec: {
              containers: lists.map((variables, at) => ({
                name: `c${at}`,
                env: [{ name: 'U' }, ...change(variables)],
              })),
            },
          });
        const stored = build(storedTexts, (variables) => variables);
        const sent = build(sentTexts, (variables) => {
          const rest: unknown[] = variables.filter((each) => !isMarkVariable(each));
          for (const [at, each] of others) rest.splice(at, 0, each);
          return rest;
        });
        const { object } = await admitted(requestOf(sent, stored));
        expect(object).toEqual(stored);
      }),
      { numRuns: 1000 },
    );
  });

  test('nothing throws, whatever stands where', async () => {
    const anything = fc.anything({ withNullPrototype: true });
    const keyed = (...keys: readonly string[]) => fc.dictionary(fc.constantFrom(...keys), anything);
    const own = keyed(...MARKS, CONFIG_HASH, ...Object.values(SAP_LISTS), DEFAULT_KEYS.auto);
    const inside = fc.record({
      metadata: fc.oneof(anything, fc.record({ annotations: keyed(...MARKS, CONFIG_HASH) })),
      spec: fc.oneof(anything, fc.record({ containers: fc.array(fc.record({ name: anything, env: anything })) })),
    });
    const odd = fc.oneof(
      anything,
      fc.record({ metadata: anything, spec: anything }),
      fc.record({
        metadata: fc.record({ annotations: fc.oneof(anything, own), labels: anything, namespace: anything }),
        spec: fc.record({ template: fc.oneof(anything, inside) }),
      }),
    );
    await fc.assert(
      fc.asyncProperty(odd, odd, fc.constantFrom(...KINDS), fc.boolean(), async (object, old, kind, sapCompat) => {
        const request = requestOf(object, old, { kind: kindOf(kind) });
        const answer = await admit(request, rulesOf({ sapCompat, autoReloadAll: true }), hashReader());
        expect(answer).toMatchObject(answer.allowed ? { allowed: true } : { code: 400, message: expect.any(String) });
        if (objectIn(object) !== object) expect(answer.allowed).toBe(false);
      }),
      { numRuns: 2000 },
    );
  });
});

test.each([
  ['of the object', 'object'],
  ['of the stored one', 'oldObject'],
] as const)('annotations %s that nobody can store are not read: the API server refuses them', async (_, at) => {
  const long = (length: number) => ({
    'pod-reloader.cs.sap.com/configmaps': 'x'.repeat(length),
    'attune.dev/record': 'r',
  });
  const annotated = (length: number) => ({
    metadata: { name: 'web', annotations: long(length) },
    spec: { template: { metadata: { annotations: {} }, spec: { containers: [] } } },
  });
  const write = (length: number) => ({ ...requestOf(annotated(1), annotated(2)), [at]: annotated(length) });
  const hash = hashReader();
  expect(await admit(write(256 * 1024), rulesOf(), hash)).toMatchObject({ allowed: true, operations: [] });
  expect(hash.reads).toBe(0);
  expect(await admit(write(250_000), rulesOf(), hash)).toMatchObject({ allowed: true, hash: 'set' });
  expect(hash.reads).toBe(1);
});
