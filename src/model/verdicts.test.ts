import { expect, test } from 'vitest';
import { policyOf, workloadOf } from '../../test/conformance/given.ts';
import { DEFAULT_KEYS } from '../api/annotations.ts';
import type { SourceRef } from '../api/sources.ts';
import { parseReloaderConfig } from '../domain/reloader-config/parse-config.ts';
import { type Workload, type WorkloadKey, workloadKey } from '../domain/workload/workload.ts';
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
const large = (n: number): string => `(?P<n${n}>app)${'\\b{1000}'.repeat(3)}\\b{835}`;

function setUp() {
  const workloads = new Map<WorkloadKey, Workload>();
  const index = new ReverseIndex();
  const configs = new ReloaderConfigs({ rolloutStrategy: 'rollout', allowReloads: new Map() });
  const workload = (key: WorkloadKey): Workload | undefined => workloads.get(key);
  const verdicts = new Verdicts({ index, configs, workload, sources: new SourceHistory(), policy: policyOf() });
  const see = (name: string, list: string): Workload => {
    const seen = workloadOf({ name, metadata: { [KEY]: list } });
    workloads.set(workloadKey(seen.ref), seen);
    verdicts.enter(seen);
    return seen;
  };
  return { index, configs, verdicts, see };
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
