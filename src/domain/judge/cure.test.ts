import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Given, podUsing, policyOf, rowOf, workloadOf } from '../../../test/conformance/given.ts';
import { DEFAULT_KEYS, ON_CHANGE, SAP_DISABLING_LABELS, SAP_LISTS } from '../../api/annotations.ts';
import type { KindName } from '../../api/kinds.ts';
import { actionFor } from './effect.ts';
import { judge } from './judge.ts';
import type { JudgedSource, Policy } from './verdict.ts';

const { auto, search, match, ignore, named, typedAuto, exclude, pausePeriod } = DEFAULT_KEYS;
const cm: JudgedSource = { ref: { kind: 'ConfigMap', name: 'cm' }, ignored: false, matchable: false };
const pod = podUsing('ConfigMap', 'cm');

interface Situation {
  readonly given: Given;
  readonly source: JudgedSource;
  readonly policy: Policy;
}

/** A verdict is not all: a suspended CronJob or a finished Job may have nothing to do. */
function rolls(now: Situation): boolean {
  const workload = workloadOf(now.given);
  const verdict = judged(now);
  const kind = rowOf(workload.ref.kind);
  return verdict.reload && actionFor(kind, workload, [verdict], now.policy) !== 'none';
}

const judged = ({ given, source, policy }: Situation) => judge(workloadOf(given), source, policy);

function curesOf(given: Given, source: Partial<JudgedSource> = {}, policy: Partial<Policy> = {}): readonly string[] {
  const verdict = judged({ given, source: { ...cm, ...source }, policy: policyOf(policy) });
  return verdict.reload ? [] : verdict.cures;
}

const ruleOf = (given: Given): string => judged({ given, source: cm, policy: policyOf() }).rule;

type Hand = (now: Situation, words: readonly string[]) => Situation;

const setting = (now: Situation, place: string, key: string, value: string | undefined): Situation => {
  const where = place.startsWith('metadata') ? 'metadata' : 'template';
  const { [key]: _before, ...kept } = now.given[where] ?? {};
  const after = value === undefined ? kept : { ...kept, [key]: value };
  return { ...now, given: { ...now.given, [where]: after } };
};

/** What a user does who reads a line and knows nothing else. */
const HANDS: readonly (readonly [RegExp, Hand])[] = [
  [
    /^take (\w+) out of --ignored-workload-types$/,
    (now) => ({ ...now, policy: { ...now.policy, ignoredKinds: new Set() } }),
  ],
  [
    /^remove label (\S+) from/,
    (now, [label = '']) => {
      const { [label]: _, ...labels } = now.given.labels ?? {};
      return { ...now, given: { ...now.given, labels } };
    },
  ],
  [/^remove (\S+) from ConfigMap cm$/, (now) => ({ ...now, source: { ...now.source, ignored: false } })],
  [/^set (\S+): "true" on ConfigMap cm$/, (now) => ({ ...now, source: { ...now.source, matchable: true } })],
  [
    /^take "(\S+)" out of (\S+) in (metadata) of/,
    (now, [name = '', key = '', place = '']) => {
      const left = (now.given.metadata?.[key] ?? '').split(',').filter((each) => each.trim() !== name);
      return setting(now, place, key, left.join(','));
    },
  ],
  [
    /^replace (\S+): "[^"]*" by (\S+): ("[^"]*") in (metadata|the pod template) of/,
    (now, [old = '', key = '', value = '', place = '']) =>
      setting(setting(now, place, old, undefined), place, key, JSON.parse(value)),
  ],
  [
    /^set (\S+): ("[^"]*") in (metadata|the pod template) of/,
    (now, [key = '', value = '', place = '']) => setting(now, place, key, JSON.parse(value)),
  ],
  [
    /^(?:mend or )?remove (\S+) (?:from|in) (metadata|the pod template) of/,
    (now, [key = '', place = '']) => setting(now, place, key, undefined),
  ],
];

function heed(now: Situation, line: string): Situation {
  for (const [pattern, hand] of HANDS) {
    const found = pattern.exec(line);
    if (found) return hand(now, found.slice(1));
  }
  throw new Error(`nobody could follow: ${line}`);
}

const annotations = fc.record(
  {
    [auto]: fc.constantFrom('true', 'false', 'yes', ''),
    [typedAuto.ConfigMap]: fc.constantFrom('true', 'false', ''),
    [typedAuto.Secret]: fc.constantFrom('true'),
    [search]: fc.constantFrom('true', 'True', 'false', ''),
    [named.ConfigMap]: fc.constantFrom('cm', 'other', 'c.*', 'bad[', 'a.b,cm', 'x, y ,', ''),
    [exclude.ConfigMap]: fc.constantFrom('other', 'cm', 'cm, other ,cm', 'x,cm'),
    [pausePeriod]: fc.constantFrom('5m', 'soon'),
    [ON_CHANGE]: fc.constantFrom('ignore', 'run'),
    [SAP_LISTS.ConfigMap]: fc.constantFrom('cm', 'other', 'other,cm', 'x, cm'),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<Record<string, string>>;

const situation: fc.Arbitrary<Situation> = fc
  .record({
    metadata: annotations,
    template: annotations,
    pod: fc.constantFrom(pod, { containers: [{ name: 'app' }] }, podUsing('Secret', 'cm')),
    spec: fc.constantFrom({}, { suspend: true }),
    status: fc.constantFrom({}, { conditions: [{ type: 'Complete', status: 'True' }] }),
    kind: fc.constantFrom<KindName>('Deployment', 'StatefulSet', 'CronJob', 'Job', 'Rollout'),
    labels: fc.record(
      { [SAP_DISABLING_LABELS[0]]: fc.constant('true'), [SAP_DISABLING_LABELS[1]]: fc.constantFrom('true', 'yes') },
      { requiredKeys: [] },
    ) as fc.Arbitrary<Record<string, string>>,
    compat: fc.boolean(),
    sapCompat: fc.boolean(),
    autoReloadAll: fc.boolean(),
    ignored: fc.boolean(),
    matchable: fc.boolean(),
    ignoredKinds: fc.constantFrom<string[]>([], ['Job'], ['CronJob', 'Job']),
  })
  .map(({ compat, sapCompat, autoReloadAll, ignoredKinds, ignored, matchable, ...given }) => ({
    given: { ...given, compat, sapCompat },
    source: { ...cm, ignored, matchable },
    policy: policyOf({ compat, sapCompat, autoReloadAll, ignoredKinds: new Set(ignoredKinds) }),
  }));

test('who follows every line gets a yes, and who leaves one out does not', () => {
  fc.assert(
    fc.property(situation, (before) => {
      const verdict = judged(before);
      fc.pre(!verdict.reload);
      if (verdict.reload) return;
      const { cures } = verdict;
      expect(rolls(cures.reduce(heed, before))).toBe(true);
      for (const left of cures) {
        const some = cures.filter((line) => line !== left);
        expect(rolls(some.reduce(heed, before)), left).toBe(false);
      }
    }),
    { numRuns: 500 },
  );
});

describe('two problems are two lines', () => {
  test('excluded, and nobody asks', () => {
    expect(curesOf({ metadata: { [exclude.ConfigMap]: 'cm' }, pod })).toEqual([
      `take "cm" out of ${exclude.ConfigMap} in metadata of Deployment web`,
      `set ${auto}: "true" in metadata of Deployment web`,
    ]);
  });

  test('but one, where to remove an auto that cannot be read is enough', () => {
    const metadata = { [auto]: 'yes', [SAP_LISTS.ConfigMap]: 'cm' };
    const labels = { [SAP_DISABLING_LABELS[0]]: 'true' };
    expect(curesOf({ metadata, labels, pod }, {}, { autoReloadAll: true })).toEqual([
      `mend or remove ${auto} in metadata of Deployment web`,
    ]);
  });

  test('suspended, and nobody asks', () => {
    expect(curesOf({ kind: 'CronJob', spec: { suspend: true }, pod })).toEqual([
      `set ${auto}: "true" in metadata of CronJob web`,
      `set ${ON_CHANGE}: "run" in metadata of CronJob web`,
    ]);
  });

  test('ignored, of an ignored kind, left alone, not named, with a pause that cannot be read', () => {
    const metadata = { [ON_CHANGE]: 'ignore', [auto]: 'true' };
    const cures = curesOf({ kind: 'CronJob', metadata }, { ignored: true }, { ignoredKinds: new Set(['CronJob']) });
    expect(cures).toEqual([
      'take cronjobs out of --ignored-workload-types',
      `remove ${ignore} from ConfigMap cm`,
      `set ${ON_CHANGE}: "run" in metadata of CronJob web`,
      `set ${named.ConfigMap}: "cm" in metadata of CronJob web`,
    ]);
    expect(curesOf({ metadata: { [pausePeriod]: 'soon' }, pod })).toEqual([
      `set ${auto}: "true" in metadata of Deployment web`,
      `mend or remove ${pausePeriod} in metadata of Deployment web`,
    ]);
  });
});

describe('the smallest change', () => {
  test.each<[string, Given, string]>([
    [
      'a list that is there gets the name',
      { metadata: { [named.ConfigMap]: 'other' }, pod },
      `set ${named.ConfigMap}: "other,cm" in metadata of Deployment web`,
    ],
    [
      'also where it is searched for',
      { metadata: { [named.ConfigMap]: 'other', [search]: 'true' }, pod },
      `set ${named.ConfigMap}: "other,cm" in metadata of Deployment web`,
    ],
    [
      'a list that is empty is filled',
      { template: { [named.ConfigMap]: '' }, pod },
      `set ${named.ConfigMap}: "cm" in the pod template of Deployment web`,
    ],
    [
      'what is named but forbidden is no longer forbidden, and nothing else is asked for',
      { metadata: { [auto]: 'false', [named.ConfigMap]: 'cm' }, pod },
      `remove ${auto} from metadata of Deployment web`,
    ],
    [
      'what hides the pod template goes',
      { metadata: { [search]: '' }, template: { [auto]: 'true' }, pod },
      `remove ${search} from metadata of Deployment web`,
    ],
    [
      'what others are asked for in the pod template stays in force',
      { template: { [typedAuto.Secret]: 'true' }, pod },
      `set ${auto}: "true" in the pod template of Deployment web`,
    ],
    ['a search wants the match', { metadata: { [search]: 'true' }, pod }, `set ${match}: "true" on ConfigMap cm`],
  ])('%s', (_, given, cure) => expect(curesOf(given)).toEqual([cure]));
});

test('what in metadata hides the pod template is named', () => {
  expect(ruleOf({ metadata: { [search]: '' }, template: { [auto]: 'true', [named.ConfigMap]: '' }, pod })).toBe(
    `no annotation in metadata asks for it; ${search}: "" in metadata hides ${auto}: "true" in the pod template`,
  );
  expect(
    ruleOf({ metadata: { [search]: '', [named.ConfigMap]: 'x' }, template: { [named.ConfigMap]: 'cm' }, pod }),
  ).toBe(
    `${named.ConfigMap}: "x" does not match it (read from metadata); ` +
      `${named.ConfigMap}: "x", ${search}: "" in metadata hide ${named.ConfigMap}: "cm" in the pod template`,
  );
  // A yes of another kind of source is not hidden from this one.
  expect(ruleOf({ metadata: { [search]: '' }, template: { [named.Secret]: 'cm' }, pod })).toBe(
    'no annotation in metadata or pod template asks for it',
  );
});

test('a pod template without containers has to get one first', () => {
  expect(curesOf({ metadata: { [named.ConfigMap]: 'cm' }, pod: {} })).toEqual(['give Deployment web a container']);
});
