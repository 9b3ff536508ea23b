import { expect, test } from 'vitest';
import { parsed, webObject } from '../../test/support/engine-world.ts';
import { eventually } from '../../test/support/eventually.ts';
import { startClient } from '../../test/support/scripted-client.ts';
import { virtualClock } from '../../test/support/virtual-clock.ts';
import { DEFAULT_KEYS } from '../api/annotations.ts';
import { CONFIG_MAPS } from '../api/resources.ts';
import { Pauses } from './pauses.ts';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

test.each([
  ['right', 0, 0],
  ['an hour slow', -HOUR_MS, 0],
  ['30 h fast', 30 * HOUR_MS, 0],
  ['set back by an hour meanwhile', 0, -HOUR_MS],
  ['set 30 h ahead meanwhile', 0, 30 * HOUR_MS],
])("a pause ends on time by the server's clock, with a wall clock that is %s", async (_, offMs, jumpMs) => {
  const start = Date.UTC(2026, 0, 1, 12);
  const clock = virtualClock(start + offMs);
  const date = () => ({ date: new Date(start + clock.now()).toUTCString() });
  const { api, client } = await startClient((exchange) => exchange.json(200, {}, date()), { clock });
  await client.get(CONFIG_MAPS, { name: 'any' });
  const annotations = { [DEFAULT_KEYS.pausePeriod]: '5m', [DEFAULT_KEYS.pausedAt]: '2026-01-01T12:00:00Z' };
  const { spec, ...object } = webObject(1, { annotations });
  const workload = parsed({ ...object, spec: { ...spec, paused: true } } as typeof object);
  const pauses = new Pauses({
    client,
    clock,
    keys: DEFAULT_KEYS,
    fieldManager: 'test',
    mayWrite: () => true,
    tidies: () => false,
    workload: () => workload,
    seen: () => {},
    report: { resumed: () => {}, notResumed: () => {} },
  });
  const running = pauses.run();
  const resumed = () => api.requests.filter(({ verb }) => verb === 'patch').length;
  pauses.seen(workload);
  clock.jump(jumpMs);
  await clock.run(4 * MINUTE_MS);
  expect(resumed()).toBe(0);
  await clock.run(MINUTE_MS + 1000);
  await eventually(resumed).toBe(1);
  pauses.stop();
  await running;
});
