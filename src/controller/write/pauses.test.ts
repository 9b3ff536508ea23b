import { expect, test } from 'vitest';
import { parsed, webObject } from '../../../test/support/engine-world.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { startClient } from '../../../test/support/scripted-client.ts';
import { virtualClock } from '../../../test/support/virtual-clock.ts';
import { DEFAULT_KEYS } from '../../api/annotations.ts';
import { CONFIG_MAPS } from '../../api/resources.ts';
import type { Workload } from '../../domain/workload/workload.ts';
import { Pauses } from './pauses.ts';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

const START = Date.UTC(2026, 0, 1, 12);
const PAUSED_AT = '2026-01-01T12:00:00Z';

/** A Deployment whose pause began at the start, and lasts five minutes. */
const web = (version: number, paused = true) => {
  const annotations = { [DEFAULT_KEYS.pausePeriod]: '5m', ...(paused && { [DEFAULT_KEYS.pausedAt]: PAUSED_AT }) };
  const { spec, ...object } = webObject(version, { annotations });
  return { ...object, spec: { ...spec, paused } } as typeof object;
};

async function world(offMs = 0, mayWrite = () => true, removesMarks = () => false) {
  const clock = virtualClock(START + offMs);
  const date = () => ({ date: new Date(START + clock.now()).toUTCString() });
  const { api, client } = await startClient((exchange) => exchange.json(200, web(9, false), date()), { clock });
  await client.get(CONFIG_MAPS, { name: 'any' });
  const told: string[] = [];
  const known = { workload: parsed(web(1)) };
  const see = (workload: Workload): void => {
    known.workload = workload;
    pauses.seen(workload);
  };
  const pauses: Pauses = new Pauses({
    client,
    clock,
    keys: DEFAULT_KEYS,
    mayWrite,
    removesMarks,
    workload: () => known.workload,
    seen: (object) => see(parsed(object as ReturnType<typeof web>)),
    report: {
      tell: (outcome) => {
        if (outcome.is === 'paused') told.push(`paused until ${new Date(outcome.until).toISOString()}`);
        if (outcome.is === 'resumed') told.push(`resumed by ${outcome.by}`);
      },
    },
  });
  const stop = new AbortController();
  const running = pauses.run(stop.signal);
  const end = async () => {
    stop.abort();
    await running;
  };
  const resumed = () => api.requests.filter(({ verb }) => verb === 'patch').length;
  return { clock, pauses, see, late: (workload: Workload) => pauses.seen(workload), told, resumed, end };
}

test.each([
  ['right', 0, 0],
  ['an hour slow', -HOUR_MS, 0],
  ['30 h fast', 30 * HOUR_MS, 0],
  ['set back by an hour meanwhile', 0, -HOUR_MS],
  ['set 30 h ahead meanwhile', 0, 30 * HOUR_MS],
])("a pause ends on time by the server's clock, with a wall clock that is %s", async (_, offMs, jumpMs) => {
  const { clock, see, resumed, end } = await world(offMs);
  see(parsed(web(1)));
  clock.jump(jumpMs);
  await clock.run(4 * MINUTE_MS);
  expect(resumed()).toBe(0);
  await clock.run(MINUTE_MS + 1000);
  await eventually(resumed).toBe(1);
  await end();
});

test('the beginning and the end of a pause are told, once each', async () => {
  const { clock, see, told, resumed, end } = await world();
  for (const version of [1, 2, 3]) see(parsed(web(version)));
  expect(told).toEqual(['paused until 2026-01-01T12:05:00.000Z']);
  await clock.run(5 * MINUTE_MS + 1000);
  await eventually(resumed).toBe(1);
  await eventually(() => told.slice(1)).toEqual(['resumed by us']);
  see(parsed(web(9, false)));
  await end();
  expect(told).toHaveLength(2);
});

test('that somebody else ends a pause is told too', async () => {
  const { see, told, end } = await world();
  see(parsed(web(1)));
  see(parsed(web(2, false)));
  see(parsed(web(3, false)));
  expect(told.slice(1)).toEqual(['resumed by another writer']);
  await end();
});

test('what was before a pause and arrives after its beginning is not its end', async () => {
  const { late, see, told, end } = await world();
  see(parsed(web(2)));
  late(parsed(web(1, false)));
  expect(told).toHaveLength(1);
  await end();
});

test('a standby tells nothing of it until it leads', async () => {
  const state = { leads: false };
  const { see, told, end } = await world(0, () => state.leads);
  see(parsed(web(1)));
  expect(told).toEqual([]);
  state.leads = true;
  see(parsed(web(1)));
  expect(told).toHaveLength(1);
  await end();
});

test('how a pause ended between two terms is not told again in the second', async () => {
  const state = { leads: true };
  const { see, told, end } = await world(0, () => state.leads);
  see(parsed(web(1)));
  state.leads = false;
  await end();
  see(parsed(web(2, false)));
  state.leads = true;
  see(parsed(web(2, false)));
  expect(told).toEqual(['paused until 2026-01-01T12:05:00.000Z']);
});

test("a mark that another writer left is removed once, remembered with its workload, and only if it may be a reloader's", async () => {
  const marked = (version: number, mark: string) =>
    parsed(webObject(version, { annotations: { [DEFAULT_KEYS.pausedAt]: mark } }));
  const { clock, pauses, see, resumed, end } = await world(0, undefined, () => true);
  const leave = async (version: number, mark = PAUSED_AT) => {
    see(marked(version, mark));
    await clock.run(MINUTE_MS);
  };
  await leave(2);
  await eventually(resumed).toBe(1);
  await leave(10);
  expect(resumed()).toBe(1);
  pauses.gone(marked(11, PAUSED_AT));
  await leave(12);
  await eventually(resumed).toBe(2);
  await leave(14, 'x'.repeat(250_000));
  expect(resumed()).toBe(2);
  await end();
});
