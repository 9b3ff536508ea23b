import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DEFAULT_KEYS, MAX_WAIT, ON_CHANGE, QUIET_PERIOD, ROLLOUT_STRATEGY } from '../../api/annotations.ts';
import { type KindName, WORKLOAD_KINDS } from '../../api/kinds.ts';
import { SOURCE_KINDS } from '../../api/sources.ts';
import { type Intent, namedIn, originText } from './ask.ts';
import { parseIntent } from './parse-intent.ts';
import type { Annotations } from './workload-annotations.ts';

const DIALECT = { keys: DEFAULT_KEYS, compat: false };
const parse = (
  annotations: Annotations,
  templateAnnotations: Annotations = {},
  kind: KindName = 'Deployment',
  dialect = DIALECT,
): Intent => parseIntent(kind, { annotations, templateAnnotations }, dialect);
const asking = ({ asks }: Intent): readonly string[] =>
  asks.map(({ because, origin, wants }) => `${because} by ${originText(origin)} for ${wants.kinds}`);
const messages = (intent: Intent): readonly string[] =>
  intent.problems.map(({ path, message }) => `${path} ${message}`);

describe('where the four keys are read', () => {
  const { auto, search, named, typedAuto } = DEFAULT_KEYS;

  test('all from metadata if one of them is there, even empty', () => {
    expect(parse({ [auto]: '' }, { [auto]: 'true' })).toMatchObject({ asks: [], silentOn: SOURCE_KINDS });
  });

  test('each kind of source for itself', () => {
    expect(asking(parse({ [named.ConfigMap]: 'a' }, { [auto]: 'true' }))).toEqual([
      `named by ${named.ConfigMap}: "a" in metadata for ConfigMap`,
      `auto by ${auto}: "true" in the pod template for Secret,SecretProviderClass`,
    ]);
  });

  test('the most exact ask stands first', () => {
    const all = { [typedAuto.Secret]: 'True', [auto]: '1', [search]: 'true', [named.Secret]: 's,t' };
    expect(asking(parse(all))).toEqual([
      `named by ${named.Secret}: "s,t" in metadata for Secret`,
      `search-match by ${search}: "true" in metadata for ConfigMap,Secret,SecretProviderClass`,
      `auto by ${auto}: "1" in metadata for ConfigMap,Secret,SecretProviderClass`,
      `typed-auto by ${typedAuto.Secret}: "True" in metadata for Secret`,
    ]);
  });

  test('exclude lists only in metadata', () => {
    const key = DEFAULT_KEYS.exclude.Secret;
    expect(parse({ [key]: ' a, b ,' }).refusals).toMatchObject([
      { because: 'excluded', kinds: ['Secret'], names: ['a', 'b'] },
    ]);
    expect(parse({}, { [key]: 'a' }).refusals).toEqual([]);
  });

  test('keys can have other names', () => {
    const keys = { ...DEFAULT_KEYS, auto: 'example.com/auto' };
    const intent = parse({ 'example.com/auto': 'true' }, {}, 'Deployment', { keys, compat: false });
    expect(asking(intent)).toEqual([
      'auto by example.com/auto: "true" in metadata for ConfigMap,Secret,SecretProviderClass',
    ]);
  });
});

test('only an auto annotation that is not empty keeps the flag from asking, whatever it says', () => {
  const { auto, search, named, typedAuto } = DEFAULT_KEYS;
  expect(parse({ [search]: 'true', [named.Secret]: 's', [auto]: '' }).silentOn).toEqual(SOURCE_KINDS);
  expect(parse({ [typedAuto.Secret]: 'false' }).silentOn).toEqual(['ConfigMap', 'SecretProviderClass']);
  expect(parse({ [auto]: 'yes' }).silentOn).toEqual([]);
});

test('auto: "false" and on-change: "ignore" refuse; under compat the former only does not ask', () => {
  const metadata = { [DEFAULT_KEYS.auto]: 'F', [ON_CHANGE]: 'ignore' };
  const refusing = (compat: boolean): readonly string[] =>
    parse(metadata, {}, 'Job', { keys: DEFAULT_KEYS, compat }).refusals.map(
      ({ because, origin }) => `${because} by ${originText(origin)}`,
    );
  const left = `on-change-ignore by ${ON_CHANGE}: "ignore" in metadata`;
  expect(refusing(false)).toEqual([`auto-false by ${DEFAULT_KEYS.auto}: "F" in metadata`, left]);
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
  expect(namedIn(intent).map(({ kind, pattern }) => `${kind} ${pattern.text}`)).toEqual([
    'ConfigMap a',
    'ConfigMap b[',
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

test('only a pause that cannot be read blocks', () => {
  expect(
    parse({ [DEFAULT_KEYS.pausePeriod]: 'x', [QUIET_PERIOD]: 'x' }).problems.filter(({ blocks }) => blocks),
  ).toHaveLength(1);
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
