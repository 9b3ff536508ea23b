import { expect, test } from 'vitest';
import { policyOf, workloadOf } from '../../../test/conformance/given.ts';
import { DEFAULT_KEYS } from '../../api/annotations.ts';
import type { KubeObject } from '../../api/objects.ts';
import type { SourceRef } from '../../api/sources.ts';
import { MOST_NAMES_PER_NAMESPACE } from '../../domain/asks/name-budget.ts';
import { parseReloaderConfig } from '../../domain/reloader-config/parse-config.ts';
import { type Workload, type WorkloadKey, workloadKey } from '../../domain/workload/workload.ts';
import { ReverseIndex } from '../reverse-index.ts';
import { SourceHistory } from '../sources/source-history.ts';
import { Verdicts } from '../verdicts.ts';
import { ReloaderConfigs } from './reloader-configs.ts';

const numbered = (count: number, prefix: string): string[] => Array.from({ length: count }, (_, n) => `${prefix}${n}`);

function setUp() {
  const configs = new ReloaderConfigs({ rolloutStrategy: 'rollout', allowReloads: new Map() });
  const index = new ReverseIndex();
  const workloads = new Map<WorkloadKey, Workload>();
  const verdicts = new Verdicts({
    ...{ configs, index, sources: new SourceHistory(), policy: policyOf() },
    workload: (key) => workloads.get(key),
  });
  const see = (name: string, names: readonly string[] = []): Workload => {
    const workload = workloadOf({ name, metadata: { [DEFAULT_KEYS.named.ConfigMap]: names.join(',') } });
    workloads.set(workloadKey(workload.ref), workload);
    verdicts.enter(workload);
    return workload;
  };
  const put = (names: number, targets: readonly string[], watched: object = {}): void => {
    const spec = {
      watchedResources: { configMaps: numbered(names, 'n'), ...watched },
      targets: targets.map((name) => ({ kind: 'Deployment', name })),
    };
    const metadata = { namespace: 'shop', name: 'many', resourceVersion: '1' };
    configs.put(parseReloaderConfig({ metadata, spec } as unknown as KubeObject, DEFAULT_KEYS.ignore));
  };
  const problems = () => configs.get({ namespace: 'shop', name: 'many' })?.problems ?? [];
  const entries = () =>
    [...workloads.values()].map(({ ref }): readonly SourceRef[] => index.interestOf(workloadKey(ref)).literal);
  return { configs, verdicts, see, put, problems, entries };
}

test('3,000 names for 300 targets: a bounded number of entries, of the same objects, and told', () => {
  const { see, put, problems, entries } = setUp();
  const targets = numbered(300, 'web-');
  put(3000, targets);
  for (const name of targets) see(name);
  const all = entries().flat();
  expect(all).toHaveLength(166 * 300);
  expect(new Set(all).size).toBe(166);
  expect(problems()[0]?.path).toBe('spec.watchedResources.configMaps');
  expect(problems()[0]?.message).toMatch(/^"n166" is not read: the long lists of a namespace .* at most 50,000 names/);
});

test('as many names as usual: all of them, and nothing is told', () => {
  const { see, put, problems, entries } = setUp();
  put(2000, ['web', 'api']);
  for (const name of ['web', 'api']) see(name);
  expect(entries().map(({ length }) => length)).toEqual([2000, 2000]);
  expect(problems()).toEqual([]);
});

test('a config has at most 10,000 names', () => {
  const { put, problems } = setUp();
  put(9000, ['web'], { secrets: numbered(9000, 's') });
  expect(problems().map(({ path }) => path)).toEqual(Array(6).fill('spec.watchedResources.secrets'));
});

test('a name counts for each namespace of its sources, as they allow it', () => {
  const { configs, put, problems } = setUp();
  put(5000, ['web'], { namespaceSelector: {} });
  expect(problems()).toEqual([]);
  for (const name of numbered(19, 'ns-')) configs.namespaceSeen(name, { labels: {}, allowsFrom: new Set(['shop']) });
  expect(problems()).not.toEqual([]);
  expect(configs.names.sizeOf('shop')).toBe(MOST_NAMES_PER_NAMESPACE);
  for (const name of numbered(19, 'ns-')) configs.namespaceSeen(name, undefined);
  expect(problems()).toEqual([]);
  configs.remove({ namespace: 'shop', name: 'many' });
  expect(configs.names.sizeOf('shop')).toBe(0);
});

test('a workload for whose names its namespace has no room is told, and short lists of others count', () => {
  const { see, verdicts, entries } = setUp();
  for (const name of numbered(5, 'full-')) see(name, numbered(10_000, `${name}-`));
  const late = see('late', numbered(3000, 'n'));
  see('short', numbered(30, 'n'));
  expect(entries().map(({ length }) => length)).toEqual([10_000, 10_000, 10_000, 10_000, 10_000, 100, 30]);
  const { problems } = verdicts.asking(late).intent;
  expect(problems[0]?.path).toBe(DEFAULT_KEYS.named.ConfigMap);
  expect(problems[0]?.message).toContain('at most 50,000 names');
  verdicts.leave(workloadOf({ name: 'full-0' }));
  verdicts.enter(late);
  expect(verdicts.asking(late)).toBe(late);
});
