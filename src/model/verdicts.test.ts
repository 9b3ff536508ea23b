import fc from 'fast-check';
import { expect, test } from 'vitest';
import { policyOf, workloadOf } from '../../test/conformance/given.ts';
import { rounds } from '../../test/support/soak.ts';
import { DEFAULT_KEYS } from '../api/annotations.ts';
import type { SourceRef } from '../api/sources.ts';
import { expressionCosts, MOST_PER_NAMESPACE } from '../domain/asks/expression.ts';
import { parseReloaderConfig } from '../domain/reloader-config/parse-config.ts';
import { type Workload, type WorkloadKey, workloadKey } from '../domain/workload/workload.ts';
import { concernsOf } from './concerns.ts';
import { ReloaderConfigs } from './reloader-configs/reloader-configs.ts';
import { ReverseIndex } from './reverse-index.ts';
import { SourceHistory } from './sources/source-history.ts';
import { Verdicts } from './verdicts.ts';

const KEY = DEFAULT_KEYS.named.ConfigMap;
const NO_ROOM =
  'is not read: the expressions of all workloads in a namespace may have at most 262,144 instructions together';
/** As many as a namespace has room for. */
const MANY = 65;

const app: SourceRef = { kind: 'ConfigMap', namespace: 'shop', name: 'app' };

/** About 4,000 instructions, and no two are the same. Finds `app`. */
const large = (n: number): string => `(?P<n${n}>app)${'\\b{1000}'.repeat(3)}\\b{885}`;

function setUp() {
  const workloads = new Map<WorkloadKey, Workload>();
  const index = new ReverseIndex();
  const configs = new ReloaderConfigs({ rolloutStrategy: 'rollout', allowReloads: new Map() });
  const change = (ref: SourceRef): number =>
    [...index.dependents(ref)].filter((key) => verdicts.of(workloads.get(key) as Workload, ref).reload).length;
  const workload = (key: WorkloadKey): Workload | undefined => workloads.get(key);
  const verdicts = new Verdicts({ index, configs, workload, sources: new SourceHistory(), policy: policyOf() });
  const see = (name: string, list: string, namespace = 'shop'): Workload => {
    const parsed = workloadOf({ name, metadata: { [KEY]: list } });
    const seen = { ...parsed, ref: { ...parsed.ref, namespace } };
    workloads.set(workloadKey(seen.ref), seen);
    verdicts.enter(seen);
    return seen;
  };
  return { index, configs, verdicts, see, change };
}

test('the expressions of a namespace: the first workloads keep theirs, the others are told, and reload for names', () => {
  const { index, verdicts, see } = setUp();
  const first = Array.from({ length: MANY }, (_, n) => see(`web-${n}`, large(n)));
  const late = see('late', `${large(MANY)},plain`);
  expect(first.every((workload) => verdicts.of(workload, app).reload)).toBe(true);
  expect(verdicts.of(late, app).reload).toBe(false);
  expect(verdicts.of(late, { ...app, name: 'plain' }).reload).toBe(true);
  expect([...index.dependents(app)]).toEqual(first.map(({ ref }) => workloadKey(ref)));
  const { problems } = verdicts.asking(late).intent;
  expect(problems).toEqual([{ path: KEY, message: expect.stringContaining(NO_ROOM) as string }]);
  const [one] = first as [Workload];
  expect(verdicts.asking(one).intent.problems).toEqual([]);

  verdicts.leave(one);
  const again = see('late', `${large(MANY)},plain`);
  expect(verdicts.of(again, app).reload).toBe(true);
  expect(verdicts.asking(again).intent.problems).toEqual([]);
});

test('a thousand workloads with the same expression take the room of one', () => {
  const { verdicts, see } = setUp();
  const all = Array.from({ length: 1000 }, (_, n) => see(`web-${n}`, large(1)));
  expect(all.every((workload) => verdicts.of(workload, app).reload)).toBe(true);
});

test('a ReloaderConfig takes room in its own namespace, and is told what has none', () => {
  const { configs, verdicts, see } = setUp();
  const target = see('target', 'other');
  for (let n = 0; n < MANY; n += 1) see(`web-${n}`, large(n));
  const spec = {
    watchedResources: { configMaps: [large(MANY), 'app'] },
    targets: [{ kind: 'Deployment', name: 'target' }],
  };
  const configOf = (namespace: string) =>
    parseReloaderConfig({ metadata: { namespace, name: 'c' }, spec } as never, 'ignore');
  configs.put(configOf('shop'));
  expect(configs.get({ namespace: 'shop', name: 'c' })?.problems).toEqual([
    { path: 'spec.watchedResources', message: expect.stringContaining(NO_ROOM) as string },
  ]);
  verdicts.enter(target);
  expect(verdicts.of(target, app).reload).toBe(true);
  expect(verdicts.of(target, { ...app, name: 'app-1' }).reload).toBe(false);
  configs.put(configOf('blog'));
  expect(configs.get({ namespace: 'blog', name: 'c' })?.problems).toEqual([]);
});

/** So many expressions, none of which begins with a letter that a name must have. */
const numbered = (count: number, text: (n: number) => string): string =>
  Array.from({ length: count }, (_, n) => text(n)).join(',');

/** What some work costs: instructions compiled, and names matched with an expression. */
function costOf(work: () => void): Pick<ReturnType<typeof expressionCosts>, 'compiled' | 'matched'> {
  const before = expressionCosts();
  work();
  const { compiled, matched } = expressionCosts();
  return { compiled: compiled - before.compiled, matched: matched - before.matched };
}

test('twenty workloads with the same list: a change of a source matches each expression once, and the next one none', () => {
  const { see, change } = setUp();
  const expressions = numbered(17, (n) => `${'[a]*'.repeat(90)}[b-c]${n}`);
  for (let n = 0; n < 20; n += 1) see(`web-${n}`, `${expressions},.*`);
  const ref = { ...app, name: 'a'.repeat(253) };
  expect(costOf(() => expect(change(ref)).toBe(20)).matched).toBe(18);
  expect(costOf(() => expect(change(ref)).toBe(20))).toEqual({ compiled: 0, matched: 0 });
});

test('to see a workload compiles nothing, and what the namespace has no room for is never compiled', () => {
  const { see, change } = setUp();
  const lists = Array.from({ length: 8 }, (_, n) => numbered(5000, (at) => `[x]y${n}z${at}`));
  expect(costOf(() => lists.map((each, n) => see(`web-${n}`, each)))).toEqual({ compiled: 0, matched: 0 });
  const { compiled, matched } = costOf(() => change(app));
  expect(compiled).toBeLessThanOrEqual(MOST_PER_NAMESPACE);
  expect(compiled).toBeGreaterThan(MOST_PER_NAMESPACE / 2);
  expect(matched).toBeLessThan(MOST_PER_NAMESPACE / 100);
});

test('two full namespaces that change in turn compile nothing for names that they have matched', () => {
  const { see, change } = setUp();
  const refs = ['shop', 'blog'].map((namespace) => ({ ...app, namespace }));
  for (const { namespace } of refs) {
    for (let n = 0; n < 4; n += 1)
      see(
        `web-${n}`,
        numbered(5000, (at) => `[${namespace}]${n}z${at}`),
        namespace,
      );
  }
  const once = costOf(() => refs.map((ref) => change(ref)));
  expect(once.compiled).toBeGreaterThan(MOST_PER_NAMESPACE);
  for (let n = 0; n < 10; n += 1)
    expect(costOf(() => refs.map((ref) => change(ref)))).toEqual({ compiled: 0, matched: 0 });
});

test('a list of 5,000 expressions beside 500 sources: each of its expressions meets each name once', () => {
  const { see, index } = setUp();
  const web = see(
    'web',
    numbered(5000, (n) => `[c]m-${n}.`),
  );
  const sources = new SourceHistory();
  for (let n = 0; n < 500; n += 1) {
    const ref = { ...app, name: `cm-${n}` };
    const labels = {};
    sources.put(
      { ref, uid: `u-${n}`, resourceVersion: '1', fingerprint: undefined, ignored: false, matchable: false, labels },
      false,
    );
  }
  const concerned = () => [...concernsOf({ index, sources, inScope: () => true }, web.ref, [])].length;
  const expressions = index.interestOf(workloadKey(web.ref)).patterns.length;
  expect(expressions).toBeLessThan(624);
  expect(costOf(concerned).matched).toBeLessThanOrEqual(500 * expressions);
  expect(costOf(concerned)).toEqual({ compiled: 0, matched: 0 });
});

test('whatever lists the workloads of a namespace have, a change matches and compiles each expression once at most', () => {
  const pieces = ['a', '[ab]', '[ab]*', '(?:ab)?', 'a{100}', '.', '|', '\\W', ',', ',', '-'];
  const element = fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 30 }).map((all) => all.join(''));
  const lists = fc.array(
    fc.array(element, { maxLength: 40 }).map((all) => all.join(',')),
    { minLength: 1, maxLength: 5 },
  );
  const names = fc.array(fc.stringMatching(/^[ab]{1,40}$/), { minLength: 1, maxLength: 3 });
  fc.assert(
    fc.property(lists, names, (all, changed) => {
      const { index, configs, see, change } = setUp();
      const workloads = all.map((each, n) => see(`web-${n}`, each));
      const expressions = new Set(
        workloads.flatMap(({ ref }) =>
          index.interestOf(workloadKey(ref)).patterns.map(({ pattern }) => pattern?.expression),
        ),
      );
      const changes = () => changed.map((name) => change({ ...app, name }));
      const first = costOf(changes);
      expect(first.matched).toBeLessThanOrEqual(expressions.size * changed.length);
      expect(first.compiled).toBeLessThanOrEqual(configs.expressions.sizeOf('shop'));
      expect(costOf(changes)).toEqual({ compiled: 0, matched: 0 });
    }),
    { numRuns: rounds(100, 10_000) },
  );
});
