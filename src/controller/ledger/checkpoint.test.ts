import { expect, test } from 'vitest';
import { stateOf, WEB, web } from '../../../test/support/engine-world.ts';
import { eventually } from '../../../test/support/eventually.ts';
import type { Exchange } from '../../../test/support/scripted-api.ts';
import { startClient } from '../../../test/support/scripted-client.ts';
import { change, tellingWorld } from '../../../test/support/telling-world.ts';
import type { ShardContent } from '../../model/ledger/shard.ts';
import { createDigest } from '../../runtime/digest.ts';
import { LedgerReport } from '../report/ledger-report.ts';
import { Checkpoint } from './checkpoint.ts';

interface Shard {
  readonly metadata: { readonly name: string; readonly resourceVersion?: string };
  readonly data: { readonly ledger: string };
}

const HOUR_MS = 3_600_000;
const SERVER_MS = Date.UTC(2026, 0, 1, 12);

/** One ConfigMap, on a server that leaves it to the test when a write is carried out. */
async function ledger({ wall = SERVER_MS, catchUpMaxMs = Number.POSITIVE_INFINITY } = {}) {
  const { clock, deps, lines, metric } = tellingWorld('debug', wall);
  const date = () => ({ date: new Date(SERVER_MS + clock.now()).toUTCString() });
  const writes: { readonly carryOut: () => void; readonly exchange: Exchange }[] = [];
  let stored: Shard | undefined;
  const carryOut = (exchange: Exchange): void => {
    const shard = JSON.parse(exchange.body) as Shard;
    if (stored?.metadata.resourceVersion !== shard.metadata.resourceVersion) {
      exchange.status(409, 'Conflict');
      return;
    }
    const version = Number(stored?.metadata.resourceVersion ?? 0) + 1;
    stored = { ...shard, metadata: { ...shard.metadata, resourceVersion: String(version) } };
    exchange.json(200, stored, date());
  };
  const answer = (exchange: Exchange): void => {
    const isThere = stored && exchange.path.endsWith(stored.metadata.name);
    if (exchange.verb !== 'get') writes.push({ exchange, carryOut: () => carryOut(exchange) });
    else exchange.json(isThere ? 200 : 404, isThere ? stored : {}, date());
  };
  const { client } = await startClient(answer, { clock });
  const state = stateOf(web(3));
  const checkpoint = new Checkpoint({
    client,
    clock,
    namespace: 'attune',
    keyId: 'k',
    digest: createDigest(new Uint8Array(32)),
    former: undefined,
    mayStore: () => true,
    catchUpMaxMs,
    states: () => new Map([[WEB, state]]),
    heard: () => ({ seen: {}, told: {} }),
    mayWrite: () => true,
    report: new LedgerReport(deps),
    tooLarge: () => {},
  });
  return {
    clock,
    checkpoint,
    writes,
    lines,
    metric,
    apply(data: string) {
      state.settled([{ ...change('app'), current: data, since: 0 }], 0);
      checkpoint.touch(WEB);
    },
    /** What an earlier process left. */
    write(applied: Readonly<Record<string, string>>, alive = 0) {
      const entry = (data: string) => ({ uid: 'w', seq: 0, applied: { 'ConfigMap/app': data } });
      const workloads = Object.fromEntries(Object.entries(applied).map(([key, data]) => [key, entry(data)]));
      const text = JSON.stringify({ v: 2, key: 'k', alive, shards: 1, workloads });
      stored = { metadata: { name: 'attune-ledger-0', resourceVersion: '1' }, data: { ledger: text } };
    },
    alive: () => (JSON.parse(stored?.data.ledger ?? '{}') as Partial<ShardContent>).alive,
    stored() {
      const { workloads = {} } = JSON.parse(stored?.data.ledger ?? '{}') as Partial<ShardContent>;
      return Object.fromEntries(Object.entries(workloads).map(([key, { applied }]) => [key, applied['ConfigMap/app']]));
    },
  };
}

test('writes that take longer than a flush stay in their order', async () => {
  const { clock, checkpoint, writes, apply, stored } = await ledger();
  await checkpoint.load();
  checkpoint.forgetPast();
  apply('1');
  clock.advance(1000);
  await eventually(() => writes.length).toBe(1);
  for (const data of ['2', '3']) {
    apply(data);
    clock.advance(1000);
  }
  writes[0]?.carryOut();
  await eventually(() => writes.length).toBe(2);
  apply('4');
  clock.advance(1000);
  expect(writes).toHaveLength(2);
  writes[1]?.carryOut();
  await eventually(() => writes.length).toBe(3);
  writes[2]?.carryOut();
  await eventually(stored).toEqual({ [WEB]: '4' });
  expect(writes).toHaveLength(3);
});

test('the past of a kind that cannot be listed yet is kept until it can', async () => {
  const { clock, checkpoint, writes, apply, stored, write } = await ledger();
  write({ [WEB]: 'A', 'Rollout/shop/web': 'R', 'Deployment/shop/gone': 'G' });
  checkpoint.awaits('Deployment');
  checkpoint.awaits('Rollout');
  await checkpoint.load();
  checkpoint.listed('Deployment');
  apply('B');
  clock.advance(5000);
  // Not before it has been asked for all it knows.
  expect(writes).toHaveLength(0);
  checkpoint.forgetPast();
  clock.advance(1000);
  await eventually(() => writes.length).toBe(1);
  writes[0]?.carryOut();
  await eventually(stored).toEqual({ [WEB]: 'B', 'Rollout/shop/web': 'R' });
  expect(checkpoint.entry('Rollout/shop/web', 'w')?.applied).toEqual({ 'ConfigMap/app': 'R' });
  checkpoint.awaits('ConfigMap', 'shop');
  checkpoint.listed('Rollout');
  expect(checkpoint.entry('Rollout/shop/web', 'w')).toBeDefined();
  checkpoint.listed('ConfigMap', 'shop');
  expect(checkpoint.entry('Rollout/shop/web', 'w')).toBeUndefined();
});

const WALLS = [
  ['right', 0],
  ['an hour slow', -HOUR_MS],
  ['30 h fast', 30 * HOUR_MS],
] as const;

test.each(WALLS)("an absence is measured by the server's clock, with a wall clock that is %s", async (_, offMs) => {
  const found = async (awayMs: number, catchUpMaxMs: number) => {
    const { checkpoint, lines, write } = await ledger({ wall: SERVER_MS + offMs, catchUpMaxMs });
    write({ [WEB]: 'A' }, SERVER_MS - awayMs);
    await checkpoint.load();
    return lines.join();
  };
  expect(await found(HOUR_MS, 24 * HOUR_MS)).toContain('ledger found');
  expect(await found(23 * HOUR_MS, 24 * HOUR_MS)).toContain('ledger found');
  expect(await found(25 * HOUR_MS, 24 * HOUR_MS)).toContain('older than');
  // Whoever wants nothing of the past gets nothing, however soon.
  expect(await found(0, 0)).toContain('older than');
});

test.each(WALLS)("the ledger is written in the server's time, with a wall clock that is %s", async (_, offMs) => {
  const { clock, checkpoint, writes, apply, alive } = await ledger({ wall: SERVER_MS + offMs });
  await checkpoint.load();
  checkpoint.forgetPast();
  clock.jump(-HOUR_MS);
  apply('1');
  clock.advance(1000);
  await eventually(() => writes.length).toBe(1);
  writes[0]?.carryOut();
  await eventually(alive).toBeDefined();
  expect(Math.abs((alive() ?? 0) - SERVER_MS - clock.now())).toBeLessThanOrEqual(1000);
});

test('a write that fails for a moment is tried again, and nothing is said', async () => {
  const { clock, checkpoint, writes, apply, stored, lines, metric } = await ledger();
  await checkpoint.load();
  checkpoint.forgetPast();
  apply('1');
  clock.advance(1000);
  await eventually(() => writes.length).toBe(1);
  writes[0]?.exchange.cut();
  await eventually(() => metric('attune_ledger_writes_total{result="error"}')).toBe(1);
  await eventually(() => {
    clock.advance(1000);
    return writes.length;
  }).toBe(2);
  writes[1]?.carryOut();
  await eventually(stored).toEqual({ [WEB]: '1' });
  expect(lines.filter((line) => line.includes('level=warning'))).toEqual([]);
  expect(lines.join()).not.toContain('refused');
});

test('a server that asks for time gets it', async () => {
  const { clock, checkpoint, writes, apply, metric } = await ledger();
  await checkpoint.load();
  checkpoint.forgetPast();
  apply('1');
  clock.advance(1000);
  await eventually(() => writes.length).toBe(1);
  writes[0]?.exchange.json(429, { kind: 'Status', reason: 'TooManyRequests' }, { 'retry-after': '20' });
  await eventually(() => metric('attune_ledger_writes_total{result="error"}')).toBe(1);
  await clock.run(19_000);
  expect(writes).toHaveLength(1);
  await clock.run(1000);
  await eventually(() => writes.length).toBe(2);
});

test('what has to be there before anything else happens is waited for, and what keeps it from being written is told', async () => {
  const { checkpoint, writes, apply, stored } = await ledger();
  await expect(checkpoint.keep(WEB)).rejects.toThrow('its own namespace is not known');
  await checkpoint.load();
  await expect(checkpoint.keep(WEB)).rejects.toThrow('another replica leads');
  checkpoint.forgetPast();
  apply('1');
  const kept = checkpoint.keep(WEB);
  await eventually(() => writes.length).toBe(1);
  writes[0]?.carryOut();
  await kept;
  expect(stored()).toEqual({ [WEB]: '1' });
  apply('2');
  const refused = checkpoint.keep(WEB);
  refused.catch(() => {});
  await eventually(() => writes.length).toBe(2);
  writes[1]?.exchange.status(403, 'Forbidden');
  await expect(refused).rejects.toThrow('Forbidden');
});
