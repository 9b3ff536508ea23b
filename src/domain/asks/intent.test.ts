import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DEFAULT_KEYS, MAX_WAIT, ON_CHANGE, QUIET_PERIOD, ROLLOUT_STRATEGY } from '../../api/annotations.ts';
import { type KindName, WORKLOAD_KINDS } from '../../api/kinds.ts';
import { type Annotations, type Intent, parseIntent } from './intent.ts';

const parse = (metadata: Annotations, template: Annotations = {}, kind: KindName = 'Deployment'): Intent =>
  parseIntent(kind, metadata, template, DEFAULT_KEYS);
const messages = (intent: Intent): readonly string[] =>
  intent.problems.map(({ path, message }) => `${path} ${message}`);

describe('where the four keys are read', () => {
  test('all from metadata if one of them is there, even empty', () => {
    const intent = parse({ [DEFAULT_KEYS.auto]: '' }, { [DEFAULT_KEYS.auto]: 'true' });
    expect(intent.of.ConfigMap).toMatchObject({ from: 'metadata', auto: '' });
  });

  test('each kind of source for itself', () => {
    const intent = parse({ [DEFAULT_KEYS.named.ConfigMap]: 'a' }, { [DEFAULT_KEYS.auto]: 'true' });
    expect(intent.of.ConfigMap).toMatchObject({ from: 'metadata', auto: '', namedText: 'a' });
    expect(intent.of.Secret).toMatchObject({ from: 'template', auto: 'true' });
  });

  test('exclude lists only in metadata', () => {
    const key = DEFAULT_KEYS.exclude.Secret;
    expect(parse({ [key]: ' a, b ,' }).of.Secret.excluded).toEqual(['a', 'b']);
    expect(parse({}, { [key]: 'a' }).of.Secret.excluded).toEqual([]);
  });

  test('keys can have other names', () => {
    const keys = { ...DEFAULT_KEYS, auto: 'example.com/auto' };
    expect(parseIntent('Deployment', { 'example.com/auto': 'true' }, {}, keys).of.Secret.auto).toBe('true');
  });
});

test('a named list keeps its order, loses its blanks, and says which element does not compile', () => {
  const intent = parse({ [DEFAULT_KEYS.named.ConfigMap]: ' a ,,b[, c.*' });
  expect(intent.of.ConfigMap.named.map(({ text }) => text)).toEqual(['a', 'b[', 'c.*']);
  expect(messages(intent)).toEqual([
    'configmap.reloader.stakater.com/reload "b[" is no RE2 regular expression: missing closing ]',
  ]);
});

test('our own annotations', () => {
  const intent = parse({ [QUIET_PERIOD]: '3s', [MAX_WAIT]: '1m', [DEFAULT_KEYS.pausePeriod]: '5m' });
  expect(intent).toMatchObject({ quietPeriodMs: 3000, maxWaitMs: 60_000, pausePeriodMs: 300_000, problems: [] });
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
      for (const { path, message } of parseIntent(kind, metadata, template, DEFAULT_KEYS).problems) {
        expect(keys).toContain(path);
        expect(message.length).toBeLessThan(300);
      }
    }),
    { numRuns: 500 },
  );
});
