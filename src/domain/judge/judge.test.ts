import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Given, podUsing, policyOf, workloadOf } from '../../../test/conformance/given.ts';
import { DEFAULT_KEYS, ON_CHANGE } from '../../api/annotations.ts';
import { SOURCE_KINDS } from '../../api/sources.ts';
import type { Ask } from '../asks/ask.ts';
import { interests } from './interests.ts';
import { judge } from './judge.ts';
import type { JudgedSource, Policy, Verdict } from './verdict.ts';

const { auto, search, named, typedAuto, exclude, pausePeriod } = DEFAULT_KEYS;
const cm: JudgedSource = { ref: { kind: 'ConfigMap', name: 'cm' }, ignored: false, matchable: false };
const pod = podUsing('ConfigMap', 'cm');

const verdict = (given: Given, source: Partial<JudgedSource> = {}, policy: Partial<Policy> = {}): Verdict =>
  judge(workloadOf(given), { ...cm, ...source }, policyOf(policy));

/** Where more than one thing is wrong, there are more lines. */
const firstCure = (...given: Parameters<typeof verdict>): string | undefined => {
  const answer = verdict(...given);
  return answer.reload ? undefined : answer.cures[0];
};

describe('a verdict says which annotation decided, with its value, and where it stands', () => {
  test.each<[string, Given, Partial<JudgedSource>]>([
    [
      'configmap.reloader.stakater.com/reload: "cm" in metadata names it',
      { metadata: { [named.ConfigMap]: 'cm' } },
      {},
    ],
    [
      'configmap.reloader.stakater.com/reload: "x,c.*" in the pod template names it by "c.*"',
      { template: { [named.ConfigMap]: 'x,c.*' } },
      {},
    ],
    [
      'reloader.stakater.com/auto: "T" in the pod template, and container app takes variables from it',
      { template: { [auto]: 'T' }, pod },
      {},
    ],
    [
      'configmap.reloader.stakater.com/auto: "true" in metadata, and container app takes variables from it',
      { metadata: { [typedAuto.ConfigMap]: 'true' }, pod },
      {},
    ],
    [
      'reloader.stakater.com/search: "true" in metadata, ConfigMap cm carries reloader.stakater.com/match: "true", and container app takes variables from it',
      { metadata: { [search]: 'true' }, pod },
      { matchable: true },
    ],
  ])('%s', (rule, given, source) => {
    expect(verdict(given, source)).toMatchObject({ reload: true, rule });
  });
});

test('of a long list a verdict shows the beginning and the end, also the name that would have to be added', () => {
  const list = 'other,'.repeat(30_000);
  for (const given of [{ metadata: { [named.ConfigMap]: `${list}c.*` } }, { metadata: { [named.ConfigMap]: list } }]) {
    const answer = verdict(given);
    expect(answer.rule.length).toBeLessThan(500);
    const cures = answer.reload ? [] : answer.cures;
    for (const cure of cures) expect(cure.length).toBeLessThan(500);
    expect(cures[0]).toContain(',cm"');
  }
  const excluded = verdict({ metadata: { [exclude.ConfigMap]: `${list}cm`, [auto]: 'true' }, pod });
  expect(excluded).toMatchObject({ reload: false, because: 'excluded' });
  expect(excluded.rule.length).toBeLessThan(500);
});

describe('a yes carries the ask that decided', () => {
  const askOf = (given: Given, policy: Partial<Policy> = {}): Ask | undefined => {
    const answer = verdict(given, {}, policy);
    return answer.reload ? answer.ask : undefined;
  };

  test('one of the workload, or that of the flag', () => {
    const given = { metadata: { [auto]: 'true', [named.ConfigMap]: 'other' }, pod };
    expect(askOf(given)).toBe(workloadOf(given).intent.asks[1]);
    expect(askOf(given)?.origin).toEqual({ by: 'annotation', place: 'metadata', key: auto, value: 'true' });
    expect(askOf({ pod }, { autoReloadAll: true })?.origin).toEqual({ by: 'flag', flag: '--auto-reload-all' });
  });

  test('and its strategy, or else that of the flags', () => {
    const workload = workloadOf({ metadata: { [auto]: 'true' }, pod });
    const policy = policyOf({ reloadStrategy: 'annotations' });
    expect(judge(workload, cm, policy)).toMatchObject({ strategy: 'annotations' });
    const asks = workload.intent.asks.map((ask): Ask => ({ ...ask, overrides: { strategy: 'env-vars' } }));
    const other = { ...workload, intent: { ...workload.intent, asks } };
    expect(judge(other, cm, policy)).toMatchObject({ strategy: 'env-vars' });
  });

  test('an ask that finds the source unused does not stand in the way of a later one that names it', () => {
    const { intent, ...workload } = workloadOf({ metadata: { [auto]: 'true' } });
    const [later] = workloadOf({ metadata: { [named.ConfigMap]: 'c.*' } }).intent.asks;
    const asks = later === undefined ? [] : [...intent.asks, later];
    expect(judge({ ...workload, intent }, cm, policyOf())).toMatchObject({ reload: false, because: 'not-used' });
    expect(judge({ ...workload, intent: { ...intent, asks } }, cm, policyOf())).toMatchObject({ ask: later });
  });
});

test('annotations and flags ask only for sources of the own namespace', () => {
  const all = { [auto]: 'true', [search]: 'true', [named.ConfigMap]: 'cm,.*' };
  const at = (namespace: string, metadata = all) =>
    verdict({ metadata, pod }, { ref: { ...cm.ref, namespace }, matchable: true }, { autoReloadAll: true });
  expect(at('shop').reload).toBe(true);
  expect(at('other')).toMatchObject({ reload: false, because: 'not-asked', cures: [] });
  expect(at('other', {}).reload).toBe(false);
});

describe('a no says what decided, and what would remove it', () => {
  test.each<[string, string, string, Given, Partial<JudgedSource>, Partial<Policy>]>([
    [
      'kind-ignored',
      '--ignored-workload-types leaves out every CronJob',
      'take cronjobs out of --ignored-workload-types',
      { kind: 'CronJob' },
      {},
      { ignoredKinds: new Set(['CronJob']) },
    ],
    [
      'source-ignored',
      'reloader.stakater.com/ignore: "true" on ConfigMap cm',
      'remove reloader.stakater.com/ignore from ConfigMap cm',
      {},
      { ignored: true },
      {},
    ],
    [
      'excluded',
      'configmaps.exclude.reloader.stakater.com/reload: "x, cm" in metadata leaves it out',
      'take "cm" out of configmaps.exclude.reloader.stakater.com/reload in metadata of Deployment web',
      { metadata: { [exclude.ConfigMap]: 'x,cm' } },
      {},
      {},
    ],
    [
      'auto-false',
      'reloader.stakater.com/auto: "false" in metadata forbids every reload',
      'replace reloader.stakater.com/auto: "false" by configmap.reloader.stakater.com/reload: "cm" in metadata of Deployment web',
      { metadata: { [auto]: 'false' } },
      {},
      {},
    ],
    [
      'on-change-ignore',
      'attune.dev/on-change: "ignore" in metadata',
      'set attune.dev/on-change: "run" in metadata of Job web',
      { kind: 'Job', metadata: { [ON_CHANGE]: 'ignore', [auto]: 'true' }, pod },
      {},
      {},
    ],
    [
      'not-used',
      'no container uses it, and it is not named',
      'set configmap.reloader.stakater.com/reload: "cm" in the pod template of Deployment web',
      { template: { [auto]: 'true' } },
      {},
      {},
    ],
    [
      'search-without-match',
      'reloader.stakater.com/search: "true" in metadata, but ConfigMap cm does not carry reloader.stakater.com/match: "true"',
      'set reloader.stakater.com/match: "true" on ConfigMap cm',
      { metadata: { [search]: 'true' }, pod },
      {},
      {},
    ],
    [
      'not-asked',
      'no annotation in metadata or pod template asks for it',
      'set reloader.stakater.com/auto: "true" in metadata of Deployment web',
      { pod },
      {},
      {},
    ],
    [
      'not-asked',
      'configmap.reloader.stakater.com/reload: "other" does not match it (read from metadata)',
      'set configmap.reloader.stakater.com/reload: "other,cm" in metadata of Deployment web',
      { metadata: { [named.ConfigMap]: 'other' } },
      {},
      {},
    ],
    [
      'invalid-annotation',
      'deployment.reloader.stakater.com/pause-period must be a duration like 5m or 1h30m, not "soon"',
      'mend or remove deployment.reloader.stakater.com/pause-period in metadata of Deployment web',
      { metadata: { [auto]: 'true', [pausePeriod]: 'soon' }, pod },
      {},
      {},
    ],
    [
      'invalid-annotation',
      'attune.dev/on-change must be "run" or "ignore" on a Job, not "Ignore"',
      'mend or remove attune.dev/on-change in metadata of Job web',
      { kind: 'Job', metadata: { [auto]: 'true', [ON_CHANGE]: 'Ignore' }, pod },
      {},
      {},
    ],
  ])('%s: %s', (...row) => {
    const [because, rule, cure, given, source, policy] = row;
    expect(verdict(given, source, policy)).toMatchObject({ reload: false, because, rule });
    expect(firstCure(given, source, policy)).toBe(cure);
  });
});

const annotations = fc.record(
  {
    [auto]: fc.constantFrom('true', 'false', 'yes', ''),
    [typedAuto.ConfigMap]: fc.constantFrom('true', 'false', ''),
    [search]: fc.constantFrom('true', 'false'),
    [named.ConfigMap]: fc.constantFrom('cm', 'other', 'c.*', 'bad[', 'a.b,cm', ''),
    [exclude.ConfigMap]: fc.constantFrom('other', 'cm'),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<Record<string, string>>;

const situation = fc.record({
  metadata: annotations,
  template: annotations,
  pod: fc.constantFrom(pod, { containers: [{ name: 'app' }] }, podUsing('Secret', 'cm'), {}),
  compat: fc.boolean(),
  autoReloadAll: fc.boolean(),
  ignored: fc.boolean(),
  matchable: fc.boolean(),
  kind: fc.constantFrom(...SOURCE_KINDS),
  name: fc.constantFrom('cm', 'other', 'cmx'),
});

test('whatever rolls is in the reverse index', () => {
  fc.assert(
    fc.property(situation, ({ metadata, template, compat, autoReloadAll, ignored, matchable, kind, name, ...rest }) => {
      const workload = workloadOf({ metadata, template, compat, pod: rest.pod });
      const policy = policyOf({ compat, autoReloadAll });
      const { literal, patterns } = interests(workload, policy);
      const known =
        literal.some((ref) => ref.kind === kind && ref.name === name) ||
        patterns.some((entry) => entry.kind === kind && entry.pattern?.matches?.(name));
      if (judge(workload, { ref: { kind, name }, ignored, matchable }, policy).reload) expect(known).toBe(true);
    }),
    { numRuns: 500 },
  );
});

test('a workload that asked for nothing has no interests, unless all are reloaded', () => {
  expect(interests(workloadOf({ pod }), policyOf())).toEqual({ literal: [], patterns: [] });
  expect(interests(workloadOf({ pod }), policyOf({ autoReloadAll: true })).literal).toEqual([
    { kind: 'ConfigMap', namespace: 'shop', name: 'cm' },
  ]);
});

test('what a config limits is not left out where nobody uses it', () => {
  const workload = workloadOf({ pod });
  const [kind, limits] = [
    'ConfigMap',
    { labels: [{ key: 'a', operator: 'exists', values: [] }], ignored: [], mustBeUsed: false },
  ] as const;
  const origin = { by: 'config', namespace: 'shop', name: 'c', path: 'spec.autoReloadAll' } as const;
  const ask: Ask = { because: 'reloader-config', origin, wants: { what: 'used', kind }, overrides: {}, limits };
  const asking = { ...workload, intent: { ...workload.intent, asks: [ask] } };
  const because = (name: string) => judge(asking, { ...cm, ref: { kind, name } }, policyOf()).because;
  expect([because('cm'), because('other')]).toEqual(['left-out', 'not-used']);
});

test('it is silent only if all who want it are', () => {
  const workload = workloadOf({ metadata: { [named.ConfigMap]: 'cm' }, pod });
  const [own] = workload.intent.asks;
  const asking = (...asks: (Ask | undefined)[]) => {
    const all = asks.filter((ask) => ask !== undefined);
    return judge({ ...workload, intent: { ...workload.intent, asks: all } }, cm, policyOf());
  };
  const silent = own && { ...own, isSilent: true as const };
  const other = own && { ...own, wants: { ...own.wants, kind: 'Secret' as const } };
  expect(asking(silent, silent)).toMatchObject({ isSilent: true });
  expect(asking(silent, other)).toMatchObject({ isSilent: true });
  expect(asking(silent, own)).toMatchObject({ isSilent: undefined });
  expect(asking(own, silent)).toMatchObject({ isSilent: undefined });
});

test('what is excluded, forbidden or left to itself is no interest', () => {
  const none = { literal: [], patterns: [] };
  expect(interests(workloadOf({ metadata: { [auto]: 'true', [exclude.ConfigMap]: 'cm' }, pod }), policyOf())).toEqual(
    none,
  );
  expect(interests(workloadOf({ metadata: { [auto]: 'false', [named.ConfigMap]: 'cm' }, pod }), policyOf())).toEqual(
    none,
  );
  const left = workloadOf({ kind: 'Job', metadata: { [auto]: 'true', [ON_CHANGE]: 'ignore' }, pod });
  expect(interests(left, policyOf())).toEqual(none);
});
