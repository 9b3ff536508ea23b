import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Given, policyOf, workloadOf } from '../../../test/conformance/given.ts';
import { DEFAULT_KEYS, MAX_WAIT, ON_CHANGE, QUIET_PERIOD, ROLLOUT_STRATEGY, SAP_LISTS } from '../../api/annotations.ts';
import { type KindName, WORKLOAD_KINDS } from '../../api/kinds.ts';
import { SOURCE_KINDS } from '../../api/sources.ts';
import { judge } from '../judge/judge.ts';
import { type Intent, namedIn, originText } from './ask.ts';
import { parseIntent } from './parse-intent.ts';
import type { Annotations } from './workload-annotations.ts';

const DIALECT = { keys: DEFAULT_KEYS, compat: false, sapCompat: false };
const parse = (
  annotations: Annotations,
  templateAnnotations: Annotations = {},
  kind: KindName = 'Deployment',
  dialect = DIALECT,
): Intent => parseIntent(kind, { annotations, templateAnnotations, labels: {} }, dialect);
const asking = ({ asks }: Intent): readonly string[] =>
  asks
    .filter(({ origin }) => origin.by === 'annotation')
    .map(({ because, origin, wants }) => `${because} ${wants.kind} by ${originText(origin)}`);
const messages = (intent: Intent): readonly string[] =>
  intent.problems.map(({ path, message }) => `${path} ${message}`);

describe('where the four keys are read', () => {
  const { auto, search, named, typedAuto } = DEFAULT_KEYS;

  test('all from metadata if one of them is there, even empty', () => {
    expect(asking(parse({ [auto]: '' }, { [auto]: 'true' }))).toEqual([]);
  });

  test('each kind of source for itself', () => {
    expect(asking(parse({ [named.ConfigMap]: 'a' }, { [auto]: 'true' }))).toEqual([
      `named ConfigMap by ${named.ConfigMap}: "a" in metadata`,
      `auto Secret by ${auto}: "true" in the pod template`,
      `auto SecretProviderClass by ${auto}: "true" in the pod template`,
    ]);
  });

  test('the most exact ask stands first', () => {
    const all = { [typedAuto.Secret]: 'True', [auto]: '1', [search]: 'true', [named.Secret]: 's,t' };
    expect(asking(parse(all)).filter((text) => text.includes('Secret by'))).toEqual([
      `named Secret by ${named.Secret}: "s,t" in metadata`,
      `search-match Secret by ${search}: "true" in metadata`,
      `auto Secret by ${auto}: "1" in metadata`,
      `typed-auto Secret by ${typedAuto.Secret}: "True" in metadata`,
    ]);
  });

  test('exclude lists only in metadata', () => {
    const key = DEFAULT_KEYS.exclude.Secret;
    expect(parse({ [key]: ' a, b ,' }).refusals).toMatchObject([
      { because: 'excluded', kind: 'Secret', names: new Set(['a', 'b']) },
    ]);
    expect(parse({}, { [key]: 'a' }).refusals).toEqual([]);
  });

  test('keys can have other names', () => {
    const keys = { ...DEFAULT_KEYS, auto: 'example.com/auto' };
    const intent = parse({ 'example.com/auto': 'true' }, {}, 'Deployment', { ...DIALECT, keys });
    expect(asking(intent)[0]).toBe('auto ConfigMap by example.com/auto: "true" in metadata');
  });
});

test('only an auto annotation that is not empty keeps the flag from asking, whatever it says', () => {
  const { auto, search, named, typedAuto } = DEFAULT_KEYS;
  const ofFlag = (metadata: Annotations) =>
    parse(metadata).asks.flatMap(({ origin, wants }) => (origin.by === 'flag' ? wants.kind : []));
  expect(ofFlag({ [search]: 'true', [named.Secret]: 's', [auto]: '' })).toEqual(SOURCE_KINDS);
  expect(ofFlag({ [typedAuto.Secret]: 'false' })).toEqual(['ConfigMap', 'SecretProviderClass']);
  expect(ofFlag({ [auto]: 'yes' })).toEqual([]);
});

test('auto: "false" and on-change: "ignore" refuse; under compat the former only does not ask', () => {
  const metadata = { [DEFAULT_KEYS.auto]: 'F', [ON_CHANGE]: 'ignore' };
  const refusing = (compat: boolean): readonly string[] =>
    parse(metadata, {}, 'Job', { ...DIALECT, compat }).refusals.map(
      ({ because, origin }) => `${because} by ${originText(origin)}`,
    );
  const left = `on-change-ignore by ${ON_CHANGE}: "ignore" in metadata`;
  const forbidden = `auto-false by ${DEFAULT_KEYS.auto}: "F" in metadata`;
  expect(refusing(false)).toEqual([forbidden, forbidden, forbidden, left]);
  expect(refusing(true)).toEqual([left]);
});

test('who asks the same shares one object: there are thousands of them', () => {
  const { auto, search } = DEFAULT_KEYS;
  const [searching, all] = parse({ [auto]: 'true', [search]: 'true' }).asks;
  expect(parse({ [auto]: 'true' }).asks[0]).toBe(all);
  expect(parse({ [search]: 'true' }).asks[0]).toBe(searching);
  expect(parse({}, { [auto]: 'true' }).asks[0]).not.toBe(all);
  expect(parse({}).overrides).toBe(parse({ [auto]: 'true' }).overrides);
});

test('a named list keeps its order, loses its blanks, and says which element does not compile', () => {
  const intent = parse({ [DEFAULT_KEYS.named.ConfigMap]: ' a ,,b[, c.*' });
  expect(namedIn(intent.asks).map(({ kind, pattern }) => `${kind} ${pattern.text}`)).toEqual([
    'ConfigMap a',
    'ConfigMap c.*',
  ]);
  expect(messages(intent)).toEqual([
    'configmap.reloader.stakater.com/reload "b[" is no RE2 regular expression: missing closing ]',
  ]);
});

test('our own annotations', () => {
  const intent = parse({ [QUIET_PERIOD]: '3s', [MAX_WAIT]: '1m', [DEFAULT_KEYS.pausePeriod]: '5m' });
  const overrides = { quietPeriodMs: 3000, maxWaitMs: 60_000, pausePeriodMs: 300_000 };
  expect(intent).toMatchObject({ overrides, problems: [] });
  expect(parse({ [ON_CHANGE]: 'template' }, {}, 'CronJob').onChange).toBe('template');
  expect(parse({ [ROLLOUT_STRATEGY]: 'restart' }, {}, 'Rollout').rolloutStrategy).toBe('restart');
  expect(parse({ [ROLLOUT_STRATEGY]: 'restart' }).rolloutStrategy).toBe('rollout');
});

test.each<[KindName, Annotations, string]>([
  ['Deployment', { [QUIET_PERIOD]: '5' }, `${QUIET_PERIOD} must be a duration like 90s or 1h30m, not "5"`],
  ['Deployment', { [MAX_WAIT]: '-5s' }, `${MAX_WAIT} must be a duration like 90s or 1h30m, not "-5s"`],
  [
    'Deployment',
    { [DEFAULT_KEYS.pausePeriod]: '' },
    `${DEFAULT_KEYS.pausePeriod} must be a duration like 5m or 1h30m, not ""`,
  ],
  [
    'DaemonSet',
    { [DEFAULT_KEYS.pausePeriod]: '5m' },
    `${DEFAULT_KEYS.pausePeriod} has no effect on a DaemonSet: only a Deployment can be paused`,
  ],
  ['CronJob', { [ON_CHANGE]: 'maybe' }, `${ON_CHANGE} must be "run", "template" or "ignore", not "maybe"`],
  ['Job', { [ON_CHANGE]: 'template' }, `${ON_CHANGE} must be "run" or "ignore" on a Job, not "template"`],
  ['Deployment', { [ON_CHANGE]: 'ignore' }, `${ON_CHANGE} has no effect on a Deployment: only on CronJob and Job`],
  ['Rollout', { [ROLLOUT_STRATEGY]: 'reboot' }, `${ROLLOUT_STRATEGY} must be "rollout" or "restart", not "reboot"`],
  ['Deployment', { [DEFAULT_KEYS.auto]: 'yes' }, `${DEFAULT_KEYS.auto} must be "true" or "false", not "yes"`],
  ['Deployment', { [DEFAULT_KEYS.search]: '1' }, `${DEFAULT_KEYS.search} only the exact text "true" counts, not "1"`],
])('%s with %j: one problem, with the field and what was expected', (kind, annotations, message) => {
  expect(messages(parse(annotations, {}, kind))).toEqual([message]);
});

test('what decides whether something runs, and cannot be read, blocks', () => {
  const blocking = (annotations: Annotations, kind?: KindName): readonly string[] =>
    parse(annotations, {}, kind).problems.flatMap(({ path, blocks }) => (blocks ? path : []));
  expect(blocking({ [DEFAULT_KEYS.pausePeriod]: 'x', [QUIET_PERIOD]: 'x' })).toEqual([DEFAULT_KEYS.pausePeriod]);
  expect(blocking({ [ON_CHANGE]: 'Ignore' }, 'Job')).toEqual([ON_CHANGE]);
  expect(blocking({ [ON_CHANGE]: '' }, 'CronJob')).toEqual([ON_CHANGE]);
  expect(blocking({ [ON_CHANGE]: 'ignore' }, 'CronJob')).toEqual([]);
  expect(blocking({ [DEFAULT_KEYS.typedAuto.ConfigMap]: 'no', [DEFAULT_KEYS.search]: 'no' })).toEqual([]);
});

test.each(['no', 'off', ' false', 'fasle'])(
  'auto: %j beside a list reloads only as the replaced programs do',
  (auto) => {
    const metadata = { [DEFAULT_KEYS.auto]: auto, [DEFAULT_KEYS.named.ConfigMap]: 'app', [SAP_LISTS.ConfigMap]: 'app' };
    const source = { ref: { kind: 'ConfigMap', name: 'app' }, ignored: false, matchable: false } as const;
    const verdictOf = (
      mode: { readonly compat?: boolean; readonly sapCompat?: boolean },
      given: Given = { metadata },
    ) => judge(workloadOf({ ...given, ...mode }), source, policyOf(mode));
    expect(verdictOf({})).toMatchObject({ reload: false, because: 'invalid-annotation' });
    expect(verdictOf({}, { template: metadata })).toMatchObject({
      ...{ reload: false, because: 'invalid-annotation' },
      cures: [`mend or remove ${DEFAULT_KEYS.auto} in the pod template of Deployment web`],
    });
    for (const mode of [{ compat: true }, { sapCompat: true }]) expect(verdictOf(mode).reload).toBe(true);
  },
);

test.each([true, false])('limits are told, with the key, under compat: %s', (compat) => {
  const key = DEFAULT_KEYS.named.ConfigMap;
  const intent = parse({ [key]: `app,${'['.repeat(80_000)}` }, {}, 'Deployment', { ...DIALECT, compat });
  expect(messages(intent)).toEqual([
    `${key} "${'['.repeat(77)}..." is not read: an element may have at most 1,000 characters`,
  ]);
  expect(namedIn(intent.asks).some(({ pattern }) => pattern.literal === 'app')).toBe(true);
});

test('of a hundred thousand wrong elements a few are told', () => {
  const key = DEFAULT_KEYS.named.Secret;
  const list = Array.from({ length: 40_000 }, (_, n) => `a${n}[`).join(',');
  const told = messages(parse({ [key]: list }));
  expect(told).toHaveLength(6);
  expect(told.at(-1)).toBe(`${key} 39995 more elements have problems`);
});

test('any annotations give an intent', () => {
  const keys = [
    ...Object.values(DEFAULT_KEYS.named),
    ...Object.values(DEFAULT_KEYS.typedAuto),
    ...Object.values(DEFAULT_KEYS.exclude),
    DEFAULT_KEYS.auto,
    DEFAULT_KEYS.search,
    DEFAULT_KEYS.pausePeriod,
    QUIET_PERIOD,
    MAX_WAIT,
    ON_CHANGE,
    ROLLOUT_STRATEGY,
  ];
  const annotations = fc.dictionary(fc.oneof(fc.constantFrom(...keys), fc.string()), fc.string());
  const kinds = fc.constantFrom(...WORKLOAD_KINDS.map(({ kind }) => kind));
  fc.assert(
    fc.property(kinds, annotations, annotations, (kind, metadata, template) => {
      for (const { path, message } of parse(metadata, template, kind).problems) {
        expect(keys).toContain(path);
        expect(message.length).toBeLessThan(300);
      }
    }),
    { numRuns: 500 },
  );
});
