import { expect, test } from 'vitest';
import { web } from '../../../test/support/engine-world.ts';
import { DEFAULT_KEYS, QUIET_PERIOD } from '../../api/annotations.ts';
import { gate } from './gate.ts';

const RULES = { timing: { quietPeriodMs: 1000, maxWaitMs: 10_000 }, keys: DEFAULT_KEYS };
const facts = (annotations: Record<string, string> = {}, firstChangeAt = 0, lastChangeAt = firstChangeAt) => ({
  workload: web(3, { annotations }),
  firstChangeAt,
  lastChangeAt,
});

test('nothing is written before the quiet period is over, and each change begins it anew', () => {
  expect(gate(facts(), RULES, 999, 0)).toEqual({ do: 'wait', because: 'quiet-period', until: 1000 });
  expect(gate(facts(), RULES, 1000, 0)).toEqual({ do: 'go', isPaused: false });
  expect(gate(facts({}, 0, 600), RULES, 1000, 0)).toMatchObject({ do: 'wait', until: 1600 });
  expect(gate(facts({}, 0, 9500), RULES, 10_000, 0)).toMatchObject({ do: 'go' });
});

test('what a workload says of itself counts', () => {
  expect(gate(facts({ [QUIET_PERIOD]: '5s' }), RULES, 1000, 0)).toMatchObject({ do: 'wait', until: 5000 });
});

test('a pause period begins with the write', () => {
  expect(gate(facts({ [DEFAULT_KEYS.pausePeriod]: '5m' }), RULES, 1000, 0)).toEqual({ do: 'go', isPaused: true });
});
