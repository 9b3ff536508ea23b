import { describe, expect, it } from 'vitest';
import { expiryWords, untimely } from './validity.ts';
import { waitWords } from './words.ts';

const DAY = 86_400_000;
const NOW = Date.UTC(2026, 0, 10);
const leaf = { name: 'the certificate', fromMs: NOW - DAY, untilMs: NOW + DAY };

describe('a certificate counts', () => {
  it.each([
    ['in its time', NOW, undefined],
    ['from its first moment on', leaf.fromMs, undefined],
    [
      'not before',
      leaf.fromMs - 1,
      'the certificate is valid only from 2026-01-09T00:00:00Z on: wait, or set the clock right (now it is 2026-01-08T23:59:59Z here)',
    ],
    [
      'not at its end',
      leaf.untilMs,
      'the certificate has expired at 2026-01-11T00:00:00Z: issue a new one (now it is 2026-01-11T00:00:00Z here)',
    ],
  ])('%s', (_, nowMs, words) => {
    expect(untimely(leaf, nowMs)).toBe(words);
  });
});

it.each([
  ['long before', 8 * DAY, undefined],
  ['a week before', 7 * DAY - 1, 'the served certificate expires soon, at 2026-01-16T23:59:59Z: issue a new one'],
  [
    'afterwards',
    0,
    'the served certificate has expired at 2026-01-10T00:00:00Z: clients that verify are refused; issue a new one',
  ],
])('the end of a served leaf is told: %s', (_, leftMs, words) => {
  expect(expiryWords(NOW + leftMs, NOW)).toBe(words);
});

it('says who is waited for, and how long an earlier authority counts', () => {
  expect(waitWords({ kind: 'trust', pods: ['redis-1', 'redis-2'], untilMs: 0 })).toContain(
    'waits for redis-1, redis-2',
  );
  expect(waitWords({ kind: 'leaves', pods: ['redis-1'] })).toContain('waits for redis-1');
  expect(waitWords({ kind: 'overlap', untilMs: NOW })).toBe(
    'the earlier authority is trusted until 2026-01-10T00:00:00Z',
  );
});
