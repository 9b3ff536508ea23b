import { expect, test } from 'vitest';
import { web } from '../../../test/support/engine-world.ts';
import { change } from '../../../test/support/telling-world.ts';
import { DEFAULT_KEYS, MAX_WAIT, QUIET_PERIOD } from '../../api/annotations.ts';
import type { Restart } from '../ledger/restart.ts';
import type { Change } from '../outcome/change.ts';
import { cooldownEnd } from './cooldown.ts';
import { type GateFacts, gate } from './gate.ts';

const RULES = { timing: { quietPeriodMs: 1000, maxWaitMs: 10_000 }, keys: DEFAULT_KEYS };
const CHANGES = [change('app')];
const facts = (annotations: Record<string, string> = {}, firstChangeAt = 0, lastChangeAt = firstChangeAt) => ({
  workload: web(3, { annotations }),
  reloads: { at: undefined, restart: undefined },
  firstChangeAt,
  lastChangeAt,
});
const at = (given: GateFacts, now: number) => gate(given, CHANGES, RULES, { now, serverNow: 0 });

test('nothing is written before the quiet period is over, and each change begins it anew', () => {
  expect(at(facts(), 999)).toEqual({ do: 'wait', because: 'quiet-period', until: 1000 });
  expect(at(facts(), 1000)).toEqual({ do: 'go', changes: CHANGES, isPaused: false });
  expect(at(facts({}, 0, 600), 1000)).toMatchObject({ do: 'wait', until: 1600 });
  expect(at(facts({}, 0, 9500), 10_000)).toMatchObject({ do: 'go' });
});

test('what a workload says of itself counts', () => {
  expect(at(facts({ [QUIET_PERIOD]: '5s' }), 1000)).toMatchObject({ do: 'wait', until: 5000 });
  expect(at(facts({ [MAX_WAIT]: '500ms' }), 499)).toMatchObject({ do: 'wait', until: 500 });
  expect(at(facts({ [QUIET_PERIOD]: '1m' }), 9999)).toMatchObject({ do: 'wait', until: 10_000 });
  expect(at(facts({ [QUIET_PERIOD]: '1m', [MAX_WAIT]: '2m' }), 9999)).toMatchObject({ do: 'wait', until: 60_000 });
});

test('a pause period begins with the write', () => {
  expect(at(facts({ [DEFAULT_KEYS.pausePeriod]: '5m' }), 1000)).toMatchObject({ do: 'go', isPaused: true });
});

const cooled = (name: string, cooldownMs: number | undefined): Change => {
  const { verdict, ...rest } = change(name);
  return { ...rest, verdict: { ...verdict, ask: { ...verdict.ask, overrides: { cooldownMs } } } };
};
const restart = (parts: Partial<Restart> = {}): Restart => ({
  ...{ at: 100, version: 7, pods: 5, uids: ['a'], changes: { 'ConfigMap/app': ['B', 1] } },
  ...parts,
});
/** Long after the changes, so many seconds by the server's clock. */
const later = (changes: readonly Change[], seconds: number, reloads: Partial<GateFacts['reloads']>) => {
  const given = { ...facts(), reloads: { at: undefined, restart: undefined, ...reloads } };
  return gate(given, changes, RULES, { now: 50_000, serverNow: seconds * 1000 });
};

test('after a reload nothing is written until the cooldown is over', () => {
  const changes = [cooled('app', 60_000)];
  expect(later(changes, 130, {})).toMatchObject({ do: 'go' });
  expect(later(changes, 130, { at: 100 })).toEqual({ do: 'wait', because: 'cooldown', until: 80_000 });
  expect(later(changes, 160, { at: 100 })).toMatchObject({ do: 'go' });
  expect(later([cooled('app', undefined)], 130, { at: 100 })).toMatchObject({ do: 'go' });
});

test('the first of several cooldowns that ends lets all go, and so does a change that has none', () => {
  const both = [cooled('app', 60_000), cooled('other', 40_000)];
  expect(later(both, 130, { at: 100 })).toMatchObject({ do: 'wait', until: 60_000 });
  expect(later(both, 140, { at: 100 })).toMatchObject({ do: 'go', changes: both });
  const one = [cooled('app', 60_000), cooled('other', undefined)];
  expect(later(one, 130, { at: 100 })).toMatchObject({ do: 'go', changes: one });
});

test('a restart that has begun goes on during its own cooldown, for nothing but what it has begun for', () => {
  const [begun, next] = [cooled('app', 60_000), cooled('other', 60_000)];
  const reloads = { at: 100, restart: restart() };
  expect(later([begun, next], 130, reloads)).toMatchObject({ do: 'go', changes: [begun] });
  expect(later([begun, next], 160, reloads)).toMatchObject({ do: 'go', changes: [begun, next] });
  expect(later([next], 130, reloads)).toMatchObject({ do: 'wait', because: 'cooldown' });
  // There and back again: pods that came meanwhile have something else.
  expect(later([{ ...begun, since: 2 }], 130, reloads)).toMatchObject({ do: 'wait', because: 'cooldown' });
});

test('a reload of the future is none', () => {
  expect(cooldownEnd({ at: 100 }, 5000, 95_000)).toBe(105_000);
  expect(cooldownEnd({ at: 100_000 }, 5000, 95_000)).toBeUndefined();
});
