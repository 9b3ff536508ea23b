import { describe, expect, test } from 'vitest';
import { DEFAULT_KEYS } from '../../src/api/annotations.ts';
import { judge } from '../../src/domain/judge/judge.ts';
import { type PauseFacts, pauseStep } from '../../src/domain/plan/pause.ts';
import { patchOf } from '../../src/domain/template/patch.ts';
import { parseDuration } from '../../src/domain/text/duration.ts';
import { formatTime } from '../../src/domain/text/rfc3339.ts';
import { policyOf, rowOf, workloadOf } from './given.ts';

const NOW = 1_767_225_600_000;
const minutesAgo = (minutes: number): string => formatTime(NOW / 1000 - minutes * 60);
const fiveMinutes = 300_000;

const STEPS: readonly (readonly [string, PauseFacts, unknown])[] = [
  ['nothing asked', { paused: false, pausedAt: undefined, periodMs: undefined }, { do: 'none' }],
  [
    'first change',
    { paused: false, pausedAt: undefined, periodMs: fiveMinutes },
    { do: 'pause', untilMs: NOW + fiveMinutes },
  ],
  [
    'a mark of old, resumed by hand',
    { paused: false, pausedAt: minutesAgo(9), periodMs: fiveMinutes },
    { do: 'pause', untilMs: NOW + fiveMinutes },
  ],
  ['paused by a user', { paused: true, pausedAt: undefined, periodMs: fiveMinutes }, { do: 'none' }],
  [
    'further change: the end is not moved',
    { paused: true, pausedAt: minutesAgo(2), periodMs: fiveMinutes },
    { do: 'hold', untilMs: NOW + 180_000 },
  ],
  ['over', { paused: true, pausedAt: minutesAgo(5), periodMs: fiveMinutes }, { do: 'resume' }],
  ['paused-at cannot be read', { paused: true, pausedAt: 'yesterday', periodMs: fiveMinutes }, { do: 'resume' }],
  ['the annotation has gone', { paused: true, pausedAt: minutesAgo(1), periodMs: undefined }, { do: 'resume' }],
  [
    'a zone of its own',
    { paused: true, pausedAt: '2026-01-01T01:58:00+02:00', periodMs: fiveMinutes },
    { do: 'hold', untilMs: NOW + 180_000 },
  ],
  ['zero', { paused: false, pausedAt: undefined, periodMs: 0 }, { do: 'none' }],
  ['negative while paused', { paused: true, pausedAt: minutesAgo(0), periodMs: -1 }, { do: 'resume' }],
];

test.each(STEPS)('%s', (_title, facts, step) => {
  expect(pauseStep(facts, NOW)).toEqual(step);
});

describe('the period', () => {
  const periods: readonly (readonly [string, number | undefined])[] = [
    ['30s', 30_000],
    ['5m', 300_000],
    ['1h30m', 5_400_000],
    ['1.5h', 5_400_000],
    ['-2s', -2000],
    ['0', 0],
    ['100ms', 100],
    ['1us', 0.001],
    ['1\u00b5s', 0.001],
    ['5', undefined],
    ['1d', undefined],
    ['', undefined],
    ['five minutes', undefined],
  ];
  test.each(periods)('%s', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  test('one that is no duration: no reload, and it is said what was expected', () => {
    const metadata = { 'reloader.stakater.com/auto': 'true', [DEFAULT_KEYS.pausePeriod]: '5 minutes' };
    const pod = { containers: [{ name: 'app', envFrom: [{ configMapRef: { name: 'cm' } }] }] };
    const source = { ref: { kind: 'ConfigMap', name: 'cm' }, ignored: false, matchable: false } as const;
    expect(judge(workloadOf({ metadata, pod }), source, policyOf())).toMatchObject({
      reload: false,
      because: 'invalid-annotation',
      rule: expect.stringContaining('must be a duration like 5m'),
    });
    const daemon = workloadOf({ kind: 'DaemonSet', metadata, pod });
    expect(judge(daemon, source, policyOf()).reload).toBe(true);
    expect(daemon.intent.problems).toHaveLength(1);
  });

  test('on the pod template it is ignored', () => {
    expect(
      workloadOf({ template: { [DEFAULT_KEYS.pausePeriod]: '5m' } }).intent.overrides.pausePeriodMs,
    ).toBeUndefined();
  });
});

test('the writes', () => {
  const keys = DEFAULT_KEYS;
  const row = rowOf('Deployment');
  const pausedAt = minutesAgo(0);
  expect(patchOf(row, workloadOf({}), undefined, { keys, pause: { pausedAt } })).toEqual({
    type: 'strategic',
    body: { metadata: { resourceVersion: '41', annotations: { [keys.pausedAt]: pausedAt } }, spec: { paused: true } },
  });
  const paused = workloadOf({ metadata: { [keys.pausedAt]: pausedAt }, spec: { paused: true } });
  expect(patchOf(row, paused, undefined, { keys, resume: true })).toEqual({
    type: 'strategic',
    body: { metadata: { resourceVersion: '41', annotations: { [keys.pausedAt]: null } }, spec: { paused: false } },
  });
});
