import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { rounds } from '../../../test/support/soak.ts';
import { stepsOf } from '../../../test/support/steps.ts';
import { DEFAULT_KEYS, MAX_WAIT, ON_CHANGE, QUIET_PERIOD, SAP_LISTS } from '../../api/annotations.ts';
import { objectIn } from '../../api/json.ts';
import { WORKLOAD_KINDS, type WorkloadKind } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/objects.ts';
import { isAskedFor } from '../admission/asked-for.ts';
import { interests } from '../judge/interests.ts';
import { judge } from '../judge/judge.ts';
import type { Policy } from '../judge/verdict.ts';
import type { ReloaderConfig } from '../reloader-config/config.ts';
import { asksOf } from '../reloader-config/config-asks.ts';
import { parseReloaderConfig } from '../reloader-config/parse-config.ts';
import { carriesMark } from '../template/marks.ts';
import { parseLabelSelector } from '../text/label-selector.ts';
import { matches, parseSelector } from '../text/selector.ts';
import { parseWorkload } from '../workload/parse-workload.ts';
import type { Workload } from '../workload/workload.ts';
import { expressionCosts, MOST_PER_NAMESPACE } from './expression.ts';
import { countNames, countNamesOf, MOST_NAMES } from './name-budget.ts';

/** What the API server takes: annotations of one object, and one object. */
const MOST_ANNOTATIONS = 262_144;
const MOST_OBJECT = 1_500_000;
/** Three lists for Stakater, whose expressions may have so many instructions each. */
const MOST_COMPILED = 3 * 65_536;
/** Each character may be looked at so often. */
const PER_CHARACTER = 40;

const policyOf = (compat: boolean, sapCompat: boolean): Policy => ({
  ...{ keys: DEFAULT_KEYS, compat, sapCompat, autoReloadAll: true, reloadStrategy: 'env-vars' },
  ignoredKinds: new Set(),
});

const PIECES = [
  ...[
    '[',
    ']',
    '(',
    ')',
    '((',
    '(?i)',
    '(a?)',
    '|',
    '*',
    '+',
    '?',
    'a*',
    '{',
    '}',
    '{1000}',
    '{2,5}',
    '\\',
    '\\Q',
    '\\pL',
  ],
  ...[
    ',',
    'a,',
    'a.,',
    'a*,',
    'a{1000},',
    '[a-z]{9},',
    ' ',
    ' ,',
    'app',
    '-',
    '.',
    '0',
    '1s',
    'é',
    '𞥂',
    '"',
    '\n',
    '=',
    '!',
  ],
];
const piece = fc.oneof(fc.constantFrom(...PIECES), fc.string({ maxLength: 6 }));

/** A text of up to so many characters: a beginning, something again and again, an end. Most are short. */
const textUpTo = (most: number): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc.array(piece, { maxLength: 3 }),
      fc.array(piece, { minLength: 1, maxLength: 3 }),
      fc.oneof(
        { weight: 60, arbitrary: fc.nat(100) },
        { weight: 10, arbitrary: fc.nat(3000) },
        { weight: 1, arbitrary: fc.constant(most) },
      ),
      fc.array(piece, { maxLength: 3 }),
    )
    .map(([begin, again, length, end]) => {
      const times = Math.floor(length / Math.max(1, again.join('').length));
      return [...begin, again.join('').repeat(times), ...end].join('').slice(0, most);
    });

/** So many names. */
const namesUpTo = (most: number): fc.Arbitrary<string> =>
  fc
    .oneof({ weight: 30, arbitrary: fc.nat(20) }, { weight: 1, arbitrary: fc.constant(most) })
    .map((count) => numbered(count).join(','));

const numbered = (count: number): readonly string[] => Array.from({ length: count }, (_, n) => `n${n}`);

const KEYS = [
  ...[...Object.values(DEFAULT_KEYS.named), ...Object.values(DEFAULT_KEYS.exclude), ...Object.values(SAP_LISTS)],
  ...[DEFAULT_KEYS.auto, DEFAULT_KEYS.search, DEFAULT_KEYS.pausePeriod, QUIET_PERIOD, MAX_WAIT, ON_CHANGE],
];
const key = fc.oneof(
  fc.constantFrom(...KEYS),
  fc.nat(9).map((n) => `reloader.stakater.com/odd-${n}`),
);
const annotations = fc
  .dictionary(key, fc.oneof(textUpTo(MOST_ANNOTATIONS), namesUpTo(40_000)), { maxKeys: 4, noNullPrototype: true })
  .map((all): Record<string, string> => {
    let room = MOST_ANNOTATIONS;
    return Object.fromEntries(
      Object.entries(all).map(([each, text]) => {
        const kept = text.slice(0, room);
        room -= kept.length;
        return [each, kept];
      }),
    );
  });

const objectOf = (kind: WorkloadKind, metadata: object, template: object): KubeObject => {
  const pod = { metadata: { annotations: template }, spec: { containers: [{ name: 'web', image: 'x' }] } };
  const nested = kind.templatePath.reduceRight<object>((inner, member) => ({ [member]: inner }), pod);
  return { ...nested, metadata: { namespace: 'shop', name: 'web', uid: 'u', ...metadata } } as unknown as KubeObject;
};

const charactersIn = (value: unknown): number => JSON.stringify(value).length;

/** Everything that is done with a workload when it is seen and when sources of its namespace change. */
function goThrough(workload: Workload, policy: Policy): void {
  const { literal } = interests(workload, policy);
  for (const { kind, name } of [...literal, { kind: 'ConfigMap', name: 'app' } as const]) {
    judge(workload, { ref: { kind, namespace: 'shop', name }, ignored: false, matchable: false }, policy);
    carriesMark(workload, { kind, namespace: 'shop', name }, 'x', 'env-vars');
  }
}

describe('any annotations, up to what the server takes', () => {
  const kinds = fc.constantFrom(...WORKLOAD_KINDS);
  const modes = fc.constantFrom(policyOf(false, false), policyOf(true, false), policyOf(false, true));

  test(
    'are read in bounded steps, and told in few words',
    () => {
      fc.assert(
        fc.property(kinds, modes, annotations, annotations, (kind, policy, metadata, template) => {
          const object = objectOf(kind, { annotations: metadata }, template);
          const before = expressionCosts();
          const compiledNow = (): number => expressionCosts().compiled - before.compiled;
          let workload: Workload | undefined;
          stepsOf(
            () => {
              workload = parseWorkload(kind, object, { ...policy, digest: () => '' });
              const rules = { ...policy, marks: true as const, ownUsername: undefined, isOwnHash: () => true };
              isAskedFor(kind, objectIn(object), objectIn(object), rules);
              // Neither an edit that finds no room in its namespace nor a review compiles anything.
              expect(compiledNow()).toBe(0);
              goThrough(workload, policy);
            },
            PER_CHARACTER * (charactersIn(object) + 500),
          );
          const { problems = [], asks = [] } = workload?.intent ?? {};
          expect(countNamesOf(asks)).toBeLessThanOrEqual(MOST_NAMES);
          expect(compiledNow()).toBeLessThanOrEqual(MOST_COMPILED);
          expect(expressionCosts().kept).toBeLessThanOrEqual(MOST_PER_NAMESPACE);
          expect(problems.length).toBeLessThan(50);
          expect(charactersIn(problems)).toBeLessThan(20_000);
        }),
        { numRuns: rounds(300, 60_000), endOnFailure: true },
      );
    },
    rounds(60_000, 3_600_000),
  );
});

describe('any ReloaderConfig, up to what the server takes', () => {
  const texts = fc.oneof(
    fc.array(textUpTo(5000), { maxLength: 5 }),
    namesUpTo(60_000).map((names) => names.split(',')),
    textUpTo(MOST_OBJECT / 4).map((text) => text.split(',')),
  );
  const labels = texts.map((all) => Object.fromEntries(all.map((text) => [text, text.slice(0, 70)])));
  const selector = fc.record(
    {
      matchLabels: labels,
      matchExpressions: fc.array(
        fc.record({ key: textUpTo(1000), operator: fc.constantFrom('In', 'NotIn', 'Exists'), values: texts }),
        {
          maxLength: 3,
        },
      ),
    },
    { requiredKeys: [] },
  );
  const spec = fc.record(
    {
      watchedResources: fc.record(
        { configMaps: texts, secrets: texts, resourceSelector: selector },
        { requiredKeys: [] },
      ),
      ignoreResources: texts.map((all) => all.map((name) => ({ kind: 'ConfigMap', name }))),
      matchLabels: labels,
      targets: fc.array(
        fc.record({ kind: fc.constant('Deployment'), name: textUpTo(300), pausePeriod: textUpTo(100_000) }),
        {
          maxLength: 3,
        },
      ),
    },
    { requiredKeys: [] },
  );
  const metadata = { namespace: 'shop', name: 'c', uid: 'u', resourceVersion: '1' };
  const web = parseWorkload(WORKLOAD_KINDS[0] as WorkloadKind, objectOf(WORKLOAD_KINDS[0] as WorkloadKind, {}, {}), {
    ...policyOf(false, false),
    digest: () => '',
  });

  test(
    'is read in bounded steps',
    () => {
      fc.assert(
        fc.property(spec, labels, (value, sourceLabels) => {
          const { compiled } = expressionCosts();
          const policy = policyOf(false, false);
          let config: ReloaderConfig | undefined;
          const most = PER_CHARACTER * (charactersIn(value) + charactersIn(sourceLabels) + 500);
          stepsOf(() => {
            config = parseReloaderConfig({ metadata, spec: value } as unknown as KubeObject, DEFAULT_KEYS.ignore);
            const target = { path: '', ref: web.ref, mustReference: false } as ReloaderConfig['targets'][number];
            const asks = asksOf(config, target, ['shop'], { rolloutStrategy: 'rollout' });
            goThrough({ ...web, intent: { ...web.intent, asks } }, policy);
            matches(config.matchLabels, sourceLabels);
          }, most);
          expect(expressionCosts().compiled - compiled).toBeLessThanOrEqual(2 * 65_536);
          const { ConfigMap = [], Secret = [] } = config?.names ?? {};
          expect(countNames([...ConfigMap, ...Secret])).toBeLessThanOrEqual(MOST_NAMES);
          expect(config?.problems.length).toBeLessThanOrEqual(1001);
        }),
        { numRuns: rounds(100, 20_000), endOnFailure: true },
      );
    },
    rounds(60_000, 3_600_000),
  );
});

test(
  'any selector is read in bounded steps',
  () => {
    fc.assert(
      fc.property(textUpTo(100_000), (text) => {
        stepsOf(
          () => {
            parseSelector(text);
            parseLabelSelector({ matchLabels: { [text]: text } }, 'spec', () => {});
          },
          PER_CHARACTER * (text.length + 100),
        );
      }),
      { numRuns: rounds(500, 20_000), endOnFailure: true },
    );
  },
  rounds(30_000, 3_600_000),
);

describe('twice as much is twice the work', () => {
  const kind = WORKLOAD_KINDS[0] as WorkloadKind;
  const policy = policyOf(false, false);
  const seen = (metadata: Readonly<Record<string, string>>): number =>
    stepsOf(() => {
      goThrough(
        parseWorkload(kind, objectOf(kind, { annotations: metadata }, {}), { ...policy, digest: () => '' }),
        policy,
      );
    });
  const { named, exclude } = DEFAULT_KEYS;

  test.each<[string, (n: number) => Readonly<Record<string, string>>]>([
    ['names', (n) => ({ [named.ConfigMap]: numbered(n).join(',') })],
    [
      'names that are excluded',
      (n) => ({ [named.ConfigMap]: numbered(n).join(','), [exclude.ConfigMap]: numbered(n).join(',') }),
    ],
    [
      'names that SAP lists',
      (n) => ({ [SAP_LISTS.ConfigMap]: numbered(n).join(','), [SAP_LISTS.Secret]: numbered(n).join(',') }),
    ],
    ['the same name', (n) => ({ [named.ConfigMap]: 'a,'.repeat(n) })],
    ['wildcards', (n) => ({ [named.ConfigMap]: `${numbered(n).join('*,')}*` })],
    [
      'keys that nobody reads',
      (n) => Object.fromEntries(numbered(n).map((each) => [`reloader.stakater.com/${each}`, ''])),
    ],
    ['brackets', (n) => ({ [named.ConfigMap]: '['.repeat(n) })],
  ])('of %s', (_, annotationsOf) => {
    const once = seen(annotationsOf(300));
    expect(seen(annotationsOf(600))).toBeLessThan(2.5 * once);
  });

  test('of names that a ReloaderConfig watches and leaves out', () => {
    const parsed = parseWorkload(kind, objectOf(kind, {}, {}), { ...policy, digest: () => '' });
    const steps = (n: number): number =>
      stepsOf(() => {
        const spec = {
          watchedResources: { configMaps: numbered(n) },
          ignoreResources: numbered(n).map((name) => ({ kind: 'ConfigMap', name: `x${name}` })),
        };
        const config = parseReloaderConfig({ metadata: {}, spec } as unknown as KubeObject, DEFAULT_KEYS.ignore);
        const target = { path: '', ref: parsed.ref, mustReference: false } as ReloaderConfig['targets'][number];
        const asks = asksOf(config, target, ['shop'], { rolloutStrategy: 'rollout' });
        goThrough({ ...parsed, intent: { ...parsed.intent, asks } }, policy);
      });
    expect(steps(600)).toBeLessThan(2.5 * steps(300));
  });

  test('of what a pod template uses and mounts', () => {
    const steps = (n: number): number => {
      const containers = [{ name: 'web', volumeMounts: numbered(n).map((name) => ({ name, mountPath: `/${name}` })) }];
      const volumes = numbered(n).map((name) => ({ name, configMap: { name } }));
      const object = {
        metadata: { annotations: { [DEFAULT_KEYS.auto]: 'true' } },
        spec: { template: { spec: { containers, volumes } } },
      };
      return stepsOf(() => {
        goThrough(parseWorkload(kind, object as unknown as KubeObject, { ...policy, digest: () => '' }), policy);
      });
    };
    expect(steps(600)).toBeLessThan(2.5 * steps(300));
  });
});
