import { expect, test } from 'vitest';
import { eventually } from '../../../test/support/eventually.ts';
import { ledgerStore, stateWith } from '../../../test/support/ledger-store.ts';
import type { SourceId } from '../../domain/ledger/source-id.ts';
import type { WorkloadState } from '../../domain/state/workload-state.ts';
import type { WorkloadKey } from '../../domain/workload/workload.ts';
import { withKey } from '../../model/ledger/ledger-key.ts';

const MIB = 1_048_576;
const APP: SourceId = 'ConfigMap/app';

const LONG = 'x'.repeat(200);
const keysIn = (namespace: string, count: number): readonly WorkloadKey[] =>
  Array.from({ length: count }, (_, n) => `Deployment/${namespace}/web-${n}-${LONG}` as const);

const statesOf = (keys: readonly WorkloadKey[], data = 'A'): Map<WorkloadKey, WorkloadState> =>
  new Map(keys.map((key) => [key, stateWith(key, { [APP]: data })]));

type World = Awaited<ReturnType<ReturnType<typeof ledgerStore>['process']>>;

/** From the start of a process to the point where it is ready. */
async function established({ checkpoint }: World): Promise<void> {
  await checkpoint.load();
  checkpoint.forgetPast();
  await checkpoint.establish();
}

const set = (state: WorkloadState | undefined, data: string): void =>
  state?.settled([{ id: APP, ref: { kind: 'ConfigMap', namespace: 'shop', name: 'app' }, current: data } as never], 0);

/** What the next process reads about a workload. */
async function readBy(store: ReturnType<typeof ledgerStore>, keys: readonly WorkloadKey[]) {
  const { checkpoint, lines } = await store.process(new Map());
  const { result } = await checkpoint.load();
  const entries = keys.map((key) => checkpoint.entry(key, key));
  return { result, lines, entries, applied: entries.map((entry) => entry?.applied[APP]) };
}

/** Names that the hash of the version before puts into one shard of 64. */
const collidingNames = (count: number): readonly WorkloadKey[] => {
  const hashOf = (key: string): number => [...key].reduce((hash, at) => (hash * 31 + at.charCodeAt(0)) >>> 0, 0);
  const found: WorkloadKey[] = [];
  for (let n = 0; found.length < count; n += 1) {
    if (hashOf(`Deployment/evil/w${n}`) % 64 === 53) found.push(`Deployment/evil/w${n}`);
  }
  return found;
};

test('four workloads with 100 kB lists of absent names stop nobody: every shard is stored, and the next start believes it', async () => {
  const store = ledgerStore();
  const absent = Object.fromEntries(Array.from({ length: 14_300 }, (_, n) => [`ConfigMap/x${n + 10_000}`, '-']));
  const evil = collidingNames(4);
  const shop = keysIn('shop', 20);
  const states = new Map([...statesOf(shop), ...evil.map((key) => [key, stateWith(key, absent)] as const)]);
  const world = await store.process(states);
  await established(world);
  expect(store.writes.filter(({ status }) => status !== 200)).toEqual([]);
  expect(Math.max(...store.writes.map(({ bytes }) => bytes))).toBeLessThan(MIB);
  expect(world.told).toHaveLength(4);
  await world.checkpoint.keep(shop[3] as WorkloadKey);
  const { result, applied, lines } = await readBy(store, shop);
  expect(result).toBe('found');
  expect(applied).toEqual(shop.map(() => 'A'));
  expect(lines.join()).not.toContain('first start');
});

test('a workload that fits once there are more shards is not told that it does not', async () => {
  const store = ledgerStore();
  const names = Object.fromEntries(
    Array.from({ length: 3000 }, (_, n) => [`ConfigMap/x${n + 10_000}`, 'd'.repeat(22)]),
  );
  const large = keysIn('shop', 20);
  const world = await store.process(new Map(large.map((key) => [key, stateWith(key, names)])));
  await established(world);
  expect(store.shards.size).toBeGreaterThan(4);
  expect(world.told).toEqual([]);
  const { entries } = await readBy(store, large);
  expect(entries.map((entry) => Object.keys(entry?.applied ?? {}).length)).toEqual(large.map(() => 3000));
});

test('names cannot be chosen so that they share a shard', async () => {
  const evil = collidingNames(60);
  const places = [];
  for (const seed of [1, 2]) {
    const store = ledgerStore();
    const world = await store.process(statesOf([...evil, ...keysIn('shop', 600)]), { seed });
    await established(world);
    expect(store.shards.size).toBeGreaterThan(1);
    places.push(evil.map((key) => store.placeOf(key)[0]));
  }
  expect(new Set(places[0]).size).toBeGreaterThan(1);
  expect(places[0]).not.toEqual(places[1]);
});

/** A ledger of several shards, and a workload in each of them. */
async function several() {
  const store = ledgerStore();
  const all = keysIn('shop', 600);
  const states = statesOf(all);
  const world = await store.process(states);
  await established(world);
  const count = store.shards.size;
  expect(count).toBeGreaterThan(2);
  const one = new Map([...store.contents()].map(([name, { workloads }]) => [name, Object.keys(workloads)[0]]));
  const inShard = (n: number): WorkloadKey => one.get(`attune-ledger-${n}`) as WorkloadKey;
  store.writes.splice(0);
  return { store, states, world, all, count, inShard, name: (n: number) => `attune-ledger-${n}` };
}

test('a shard that is refused is named, holds back no other, and keeps its own older word', async () => {
  const { store, states, world, inShard, name, count } = await several();
  const { checkpoint, control, lines, clock } = world;
  store.fate = (shard) => (shard === name(1) ? 422 : undefined);
  control.seen = 50;
  for (const n of [0, 1, 2]) {
    set(states.get(inShard(n)), 'B');
    checkpoint.touch(inShard(n));
  }
  expect(await checkpoint.flush()).toMatchObject({ status: 422 });
  expect(store.writes.map((write) => [write.name, write.status])).toEqual([
    [name(2), 200],
    [name(1), 422],
    [name(0), 200],
  ]);
  expect(lines.filter((line) => line.includes('level=warning'))).toHaveLength(1);
  expect(lines.join()).toContain('ledger write refused: attune-ledger-1.');
  // The first one names all that hold what is known.
  const others = Array.from({ length: count - 1 }, (_, n) => String(n + 1));
  expect(Object.keys(store.contents().get(name(0))?.holds ?? {})).toEqual(others.filter((n) => n !== '1'));
  const { result, applied, entries } = await readBy(store, [0, 1, 2, 3].map(inShard));
  expect(result).toBe('found');
  expect(applied).toEqual(['B', 'A', 'B', 'A']);
  expect(entries.map((entry) => entry?.seen)).toEqual([50, 1, 50, 50].map((ConfigMap) => ({ ConfigMap })));
  // While it waits for its next try, others are written as soon as ever.
  store.writes.splice(0);
  checkpoint.touch(inShard(1));
  checkpoint.touch(inShard(2));
  clock.advance(1000);
  await eventually(() => store.writes.map((write) => write.name)).toEqual([name(2)]);
  store.fate = () => undefined;
  clock.advance(600_000);
  await eventually(() => lines.join()).toContain('the ledger is kept again');
  expect((await readBy(store, [inShard(1)])).applied).toEqual(['B']);
});

test('a flush writes only shards that changed', async () => {
  const { store, world, inShard, name } = await several();
  world.checkpoint.touch(inShard(2));
  await world.checkpoint.flush();
  expect(store.writes.map((write) => write.name)).toEqual([name(2)]);
  await world.checkpoint.flush();
  expect(store.writes).toHaveLength(1);
});

test('a large shard is written more rarely: a minute of changes costs no more bytes than in one of the usual size', async () => {
  const bytesInAMinute = async (sources: number) => {
    const store = ledgerStore();
    const names = Object.fromEntries(
      Array.from({ length: sources }, (_, n) => [`ConfigMap/x${n + 10_000}`, 'd'.repeat(22)]),
    );
    const [key] = keysIn('shop', 1) as [WorkloadKey];
    const { checkpoint, clock } = await store.process(new Map([[key, stateWith(key, names)]]));
    await checkpoint.load();
    checkpoint.forgetPast();
    await checkpoint.establish();
    store.writes.splice(0);
    for (let second = 0; second < 60; second += 1) {
      checkpoint.touch(key);
      clock.advance(1000);
      await checkpoint.flush();
    }
    // What has to be there at once is written at once.
    await checkpoint.keep(key);
    expect((await readBy(store, [key])).entries[0]?.applied).toEqual(names);
    return store.writes.reduce((sum, { bytes }) => sum + bytes, 0);
  };
  expect(await bytesInAMinute(4000)).toBeLessThan(60 * 64_000 * 1.2);
  expect(await bytesInAMinute(1300)).toBeGreaterThan(30 * 64_000);
});

test('what is kept depends on its own shard alone', async () => {
  const { store, states, world, inShard, name } = await several();
  const { checkpoint } = world;
  store.fate = (shard) => (shard === name(1) ? 422 : shard === name(2) ? 'hangs' : undefined);
  for (const n of [1, 2]) checkpoint.touch(inShard(n));
  void checkpoint.flush();
  await eventually(() => store.writes.length).toBe(1);
  set(states.get(inShard(3)), 'B');
  await checkpoint.keep(inShard(3));
  expect((await readBy(store, [inShard(3)])).applied).toEqual(['B']);
  await expect(checkpoint.keep(inShard(1))).rejects.toMatchObject({ status: 422 });
  // Of several at once for one shard one write is enough.
  const before = store.writes.length;
  await Promise.all(Array.from({ length: 10 }, () => checkpoint.keep(inShard(3))));
  expect(store.writes.length - before).toBeLessThanOrEqual(2);
});

test('a leader that was replaced overwrites nothing, and does not say that it did', async () => {
  const { store, states, world, inShard, name } = await several();
  const old = store.shards.get(name(3));
  const next = await store.process(statesOf([...states.keys()], 'N'));
  await established(next);
  expect(store.shards.get(name(3))?.version).toBeGreaterThan(old?.version ?? 0);
  // It believes that it leads until the answer to its write.
  store.fate = () => {
    world.control.leads = false;
    return undefined;
  };
  await expect(world.checkpoint.keep(inShard(3))).rejects.toMatchObject({ status: 409 });
  expect((await readBy(store, [inShard(3)])).applied).toEqual(['N']);
  // One that still leads overwrites what it finds.
  store.fate = () => undefined;
  await next.checkpoint.keep(inShard(3));
  store.shards.set(name(3), { text: 'broken', version: 9999 });
  await next.checkpoint.keep(inShard(3));
  expect((await readBy(store, [inShard(3)])).applied).toEqual(['N']);
});

test('killed at any write while their number grows: nothing is lost, and nothing older is believed', async () => {
  const keys = keysIn('shop', 600);
  for (let last = 0; ; last += 1) {
    const store = ledgerStore();
    const few = statesOf(keys.slice(0, 100));
    const world = await store.process(few);
    await established(world);
    expect(store.shards.size).toBe(1);
    for (const [key, state] of statesOf(keys, 'B')) few.set(key, state);
    world.checkpoint.touch(keys[0] as WorkloadKey);
    let left = last;
    store.fate = () => {
      left -= 1;
      return left < 0 ? 'dies' : undefined;
    };
    world.control.seen = 50;
    await world.checkpoint.flush();
    const isDone = left >= 0;
    store.fate = () => undefined;
    const { result, entries, lines } = await readBy(store, keys);
    expect(result).toBe('found');
    expect(lines.join()).not.toContain('ledger incomplete');
    for (const [n, entry] of entries.entries()) {
      const data = entry?.applied[APP];
      // Old data with the old word, new data with the new one.
      if (data === 'A') expect(entry?.seen).toEqual({ ConfigMap: 1 });
      else if (data === 'B') expect(entry?.seen).toEqual({ ConfigMap: 50 });
      else expect(n).toBeGreaterThanOrEqual(100);
    }
    if (!isDone) continue;
    expect(entries.map((entry) => entry?.applied[APP])).toEqual(keys.map(() => 'B'));
    expect(store.shards.size).toBeGreaterThan(2);
    expect(last).toBeGreaterThan(4);
    return;
  }
});

test('where no more shards can be created, everything stays where it is and fits', async () => {
  const store = ledgerStore();
  const keys = keysIn('shop', 600);
  store.fate = (name) => (name === 'attune-ledger-3' ? 403 : undefined);
  const world = await store.process(statesOf(keys));
  await established(world);
  expect(store.contents().get('attune-ledger-0')?.shards).toBe(1);
  expect((await readBy(store, keys)).applied).toEqual(keys.map(() => 'A'));
  expect(world.lines.join()).toContain('ledger write refused: attune-ledger-3.');
  // And a later start does not count on those that are not there.
  const next = await store.process(statesOf(keys, 'B'));
  await established(next);
  expect((await readBy(store, keys)).applied).toEqual(keys.map(() => 'B'));
});

test('a shard that was deleted costs its own entries, and is there again after the next start', async () => {
  const { store, all, states, inShard, count } = await several();
  const lost = inShard(2);
  store.shards.delete('attune-ledger-2');
  const { result, applied, lines } = await readBy(store, [lost, inShard(1)]);
  expect([result, applied]).toEqual(['found', [undefined, 'A']]);
  expect(lines.join()).toContain('ledger incomplete: attune-ledger-2 missing');
  await established(await store.process(states));
  expect(store.shards.size).toBe(count);
  expect((await readBy(store, all)).applied).toEqual(all.map(() => 'A'));
});

test('a restart with more pods than there is room for is not begun, and disturbs no other', async () => {
  const store = ledgerStore();
  const uids = Array.from({ length: 9000 }, (_, n) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`);
  const restart = { at: 1, version: 1, pods: uids.length, uids, changes: { [APP]: ['B', 1] as const } };
  const [large, small] = ['Deployment/evil/large', 'Deployment/shop/small'] as const;
  const fits = { ...restart, uids: uids.slice(0, 5000) };
  const states = new Map([
    [large as WorkloadKey, stateWith(large, { [APP]: 'A' }, restart)],
    [small, stateWith(small, { [APP]: 'A' }, fits)],
  ]);
  const { checkpoint, told } = await store.process(states);
  await checkpoint.load();
  checkpoint.forgetPast();
  await expect(checkpoint.keep(large)).rejects.toThrow('413 NotKept: it needs');
  await checkpoint.keep(small);
  const { entries } = await readBy(store, [large, small]);
  expect(entries.map((entry) => entry?.restart?.uids.length)).toEqual([undefined, 5000]);
  expect(told).toHaveLength(1);
});

test('killed at any write after the key was replaced, which gives workloads other places: no entry is lost', async () => {
  const [weak, strong] = [Buffer.from('weak'), Buffer.alloc(32, 7)];
  const keys = keysIn('shop', 600);
  const after = withKey(strong, false, weak);
  const data = after.former?.applied('A') ?? '';
  let isDone = false;
  for (let last = 0; !isDone; last += 1) {
    const store = ledgerStore();
    await established(await store.process(statesOf(keys), { ledgerKey: withKey(weak, false) }));
    const count = store.shards.size;
    let left = last;
    store.fate = () => {
      left -= 1;
      return left < 0 ? 'dies' : undefined;
    };
    await established(await store.process(statesOf(keys, data), { ledgerKey: after })).catch(() => {});
    isDone = left >= 0;
    store.fate = () => undefined;
    const { checkpoint } = await store.process(new Map(), { ledgerKey: after });
    expect(await checkpoint.load()).toMatchObject({ result: 'found', lost: [] });
    expect(keys.filter((key) => checkpoint.entry(key, key)?.applied[APP] !== data)).toEqual([]);
    if (isDone) expect(last).toBeGreaterThanOrEqual(count);
  }
});

test('what was kept while the number of shards grew is there, also where its new shard is refused afterwards', async () => {
  const keys = keysIn('shop', 900);
  for (const fate of [422, 'dies'] as const) {
    const store = ledgerStore();
    const states = statesOf(keys.slice(0, 300));
    const { checkpoint } = await store.process(states);
    await checkpoint.load();
    checkpoint.forgetPast();
    await checkpoint.establish();
    const before = store.shards.size;
    for (const [key, state] of statesOf(keys)) if (!states.has(key)) states.set(key, state);
    let moved: WorkloadKey | undefined;
    store.fate = async (name) => {
      const n = Number(name.slice('attune-ledger-'.length));
      if (n < before) return undefined;
      const isStored = store.shards.has(name);
      if (moved && isStored && store.placeOf(moved).includes(n)) return fate;
      // While the last new ones are being created, one that is there already misses what is kept now.
      if (n < before + 8 || moved) return undefined;
      moved = keys.slice(0, 300).find((key) => store.placeOf(key).length === 2) as WorkloadKey;
      set(states.get(moved), 'B');
      await checkpoint.keep(moved);
      return undefined;
    };
    for (const key of keys) checkpoint.touch(key);
    await checkpoint.flush();
    store.fate = () => undefined;
    expect(moved).toBeDefined();
    expect((await readBy(store, [moved as WorkloadKey])).applied).toEqual(['B']);
  }
});

test('a try that failed writes nothing anew that is stored', async () => {
  const { store, states, name } = await several();
  const world = await store.process(states);
  store.fate = (shard) => (shard === name(1) ? 500 : undefined);
  await expect(established(world)).rejects.toMatchObject({ status: 500 });
  store.writes.splice(0);
  await expect(world.checkpoint.establish()).rejects.toMatchObject({ status: 500 });
  expect(store.writes.map((write) => write.name)).toEqual([name(1)]);
});

test('a shard that somebody else writes at the same moment, twice, is tried again at once', async () => {
  const { store, world, inShard, name } = await several();
  store.fate = () => 409;
  world.checkpoint.touch(inShard(1));
  expect(await world.checkpoint.flush()).toMatchObject({ status: 409 });
  store.fate = () => undefined;
  store.writes.splice(0);
  world.clock.advance(1000);
  await eventually(() => store.writes.map((write) => [write.name, write.status])).toEqual([[name(1), 200]]);
});
