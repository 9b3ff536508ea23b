import { expect, test } from 'vitest';
import { startClient } from '../../../test/support/scripted-client.ts';
import type { WorkloadKey } from '../../domain/workload/workload.ts';
import { createDigest } from '../../runtime/digest.ts';
import { CheckpointReader } from './checkpoint-reader.ts';
import type { ShardContent } from './shard.ts';

const digest = createDigest(new Uint8Array(32));
/** A workload whose shard this is, of so many. */
function placedIn(n: number, count: number): WorkloadKey {
  for (let tries = 0; ; tries += 1) {
    const key = `Deployment/shop/placed-${tries}` as const;
    if (Number.parseInt(digest.text(`shard of ${key}`).slice(0, 8), 16) % count === n) return key;
  }
}

const SERVER_MS = Date.UTC(2026, 0, 1, 12);
const WEB = 'Deployment/shop/web';

/** The content of each shard, by its number, or why it may not be read. */
async function reader(shards: readonly (object | 'Forbidden' | undefined)[]) {
  const { client, api } = await startClient(({ path, json }) => {
    const n = Number(path.slice(path.lastIndexOf('-') + 1));
    const content = shards[n];
    const date = { date: new Date(SERVER_MS).toUTCString() };
    if (content === 'Forbidden') return json(403, { kind: 'Status', reason: 'Forbidden' }, date);
    if (!content) return json(404, { kind: 'Status', reason: 'NotFound' }, date);
    const ledger = JSON.stringify({ v: 2, key: 'k', alive: SERVER_MS, shards: 1, workloads: {}, ...content });
    const metadata = { name: `attune-ledger-${n}`, resourceVersion: String(10 + n) };
    json(200, { metadata, data: { ledger } }, date);
  });
  const options = { client, namespace: 'attune', keyId: 'k', former: undefined, digest, catchUpMaxMs: 60_000 };
  const checkpoint = new CheckpointReader(options);
  return {
    ...{ checkpoint, api },
    verbs: () => new Set(api.requests.map(({ verb }) => verb)),
  };
}

const entry = (data: string, rest: object = {}) => ({ uid: 'w', seq: 1, applied: { 'ConfigMap/app': data }, ...rest });

test.each([
  ['nothing', [undefined], 'first-start'],
  ['an earlier format', [{ v: 1 }], 'other-format'],
  ['what is no ledger', [{ v: 'x' }], 'first-start'],
  ['another key', [{ key: 'other' }], 'other-key'],
  ['a time long ago', [{ alive: SERVER_MS - 120_000 }], 'too-old'],
  ['the right one', [{}], 'found'],
] as const)('a checkpoint with %s', async (_is, shards, result) => {
  const { checkpoint } = await reader(shards);
  expect(await checkpoint.load()).toEqual({ result, lost: [], unreadable: undefined });
  expect(checkpoint.believable).toBe(result === 'found');
});

test('any shard may know of more of them than the first, and all are read, never written', async () => {
  const { checkpoint, verbs } = await reader([
    { shards: 2, alive: SERVER_MS + 5 },
    { shards: 4, alive: SERVER_MS + 5 },
    {},
    { shards: 4, workloads: { [WEB]: entry('A') } },
  ]);
  await checkpoint.load();
  expect(checkpoint.versions).toEqual(['10', '11', '12', '13']);
  expect(checkpoint.entry(WEB, 'w')?.applied).toEqual({ 'ConfigMap/app': 'A' });
  expect(checkpoint.entry(WEB, 'another')).toBeUndefined();
  expect(verbs()).toEqual(new Set(['get']));
});

test.each([
  ['the first', 0],
  ['another', 2],
])('%s shard is missing or damaged: the others are believed, and only its entries are lost', async (_which, n) => {
  for (const found of [undefined, { v: 2, shards: 3 }, { v: 1 }, { key: 'other' }]) {
    const keys = [0, 1, 2, 3].map((each) => `Deployment/shop/web-${each}` as const);
    const shards = keys.map((key, at) => (at === n ? found : { shards: 4, workloads: { [key]: entry('A') } }));
    const { checkpoint } = await reader(shards);
    expect(await checkpoint.load()).toEqual({ result: 'found', lost: [`attune-ledger-${n}`], unreadable: undefined });
    expect(keys.map((key) => checkpoint.entry(key, 'w') !== undefined)).toEqual([0, 1, 2, 3].map((at) => at !== n));
    // It is written anew when their number grows; until then entries go where there is something.
    if (found === undefined) expect(checkpoint.versions).toHaveLength(n === 0 ? 1 : 2);
    else expect(checkpoint.versions).toHaveLength(4);
  }
});

test('a number of shards that cannot be is damage, not a reason to read for ever', async () => {
  for (const shards of [1e9, 3, 0, -1, 128, '4']) {
    const { checkpoint, api } = await reader([{ shards }]);
    expect((await checkpoint.load()).result).toBe('first-start');
    expect(api.requests).toHaveLength(8);
  }
});

test('shards that were created just before a crash are read, though no other knows of them', async () => {
  const [stays, moves] = [placedIn(0, 2), placedIn(1, 2)];
  const { checkpoint } = await reader([
    { workloads: { [moves]: entry('A'), [stays]: entry('A') } },
    { shards: 2, edition: 1, workloads: { [moves]: entry('B') } },
  ]);
  await checkpoint.load();
  expect(checkpoint.entry(moves, 'w')?.applied).toEqual({ 'ConfigMap/app': 'B' });
  expect(checkpoint.entry(stays, 'w')?.applied).toEqual({ 'ConfigMap/app': 'A' });
});

test('a shard that is left over from a larger number of them brings back nothing that was taken out since', async () => {
  const [gone, kept] = [placedIn(5, 8), placedIn(7, 8)];
  const nothing = [undefined, undefined, undefined];
  const { checkpoint } = await reader([
    { shards: 2, edition: 20 },
    { shards: 2, edition: 20, seen: { ConfigMap: 90 }, workloads: { [kept]: entry('B') } },
    ...nothing,
    { shards: 8, seen: { ConfigMap: 10 }, workloads: { [gone]: entry('A') } },
    undefined,
    { shards: 8, seen: { ConfigMap: 10 }, workloads: { [kept]: entry('A') } },
  ]);
  expect((await checkpoint.load()).lost).toEqual([]);
  expect(checkpoint.entry(gone, 'w')).toBeUndefined();
  expect(checkpoint.seenOf('ConfigMap', gone)).toBe(90);
  expect(checkpoint.entry(kept, 'w')?.applied).toEqual({ 'ConfigMap/app': 'B' });
});

test('of two entries for a workload the one counts whose text was made later', async () => {
  // Whichever has its place there, and whichever arrived later.
  for (const key of [placedIn(0, 2), placedIn(1, 2)]) {
    const { checkpoint } = await reader([
      { shards: 2, edition: 8, workloads: { [key]: entry('new') } },
      { shards: 2, edition: 7, workloads: { [key]: entry('old') } },
    ]);
    await checkpoint.load();
    expect(checkpoint.entry(key, 'w')?.applied).toEqual({ 'ConfigMap/app': 'new' });
  }
});

test.each([
  ['names it at this version', { 1: '11' }, 50],
  ['names it at another version', { 1: '7' }, 20],
  ['does not name it', {}, 20],
])('how far a shard goes when the first one %s', async (_how, holds, seen) => {
  const [first, second] = [placedIn(0, 2), placedIn(1, 2)];
  const alive = SERVER_MS - 9000;
  for (const workloads of [{}, { [second]: entry('A') }]) {
    const { checkpoint } = await reader([
      { shards: 2, seen: { ConfigMap: 50 }, holds, workloads: { [first]: entry('A') } },
      { shards: 2, seen: { ConfigMap: 20 }, alive, workloads },
    ]);
    await checkpoint.load();
    if (second in workloads) expect(checkpoint.entry(second, 'w')?.seen).toEqual({ ConfigMap: seen });
    // What it does not mention had no entry: that goes as far.
    expect(checkpoint.seenOf('ConfigMap', second)).toBe(seen);
    expect(checkpoint.aliveAt(second)).toBe(seen === 50 ? SERVER_MS : alive);
    // Of what belongs into another shard, that one speaks, whatever is the matter with this one.
    expect(checkpoint.entry(first, 'w')?.seen).toEqual({ ConfigMap: 50 });
    expect(checkpoint.seenOf('ConfigMap', first)).toBe(50);
    expect(checkpoint.aliveAt(first)).toBe(SERVER_MS);
  }
});

test('of a workload whose shard is lost, only what all others had heard of was heard of', async () => {
  const lost = placedIn(1, 4);
  const shards = [50, undefined, 20, 30].map((ConfigMap) => ConfigMap && { shards: 4, seen: { ConfigMap } });
  const { checkpoint } = await reader(shards as object[]);
  await checkpoint.load();
  expect(checkpoint.seenOf('ConfigMap', lost)).toBe(20);
});

test('a kind that came after a shard was written goes as far as the first shard says of it', async () => {
  const key = placedIn(1, 2).replace('Deployment', 'Rollout') as WorkloadKey;
  const { checkpoint } = await reader([
    { shards: 2, seen: { ConfigMap: 50 }, told: { Deployment: 50, Rollout: 30 }, holds: { 1: '11' } },
    { shards: 2, seen: { ConfigMap: 20 }, told: { Deployment: 20 } },
  ]);
  await checkpoint.load();
  for (const each of [key, key.replace('placed', 'other') as WorkloadKey])
    expect(checkpoint.seenOf('ConfigMap', each)).toBe(30);
});

test('a shard that could not be written for long does not make the rest too old', async () => {
  const { checkpoint } = await reader([
    { shards: 2 },
    { shards: 2, alive: SERVER_MS - 120_000, workloads: { [WEB]: entry('A') } },
  ]);
  expect((await checkpoint.load()).result).toBe('found');
  expect(checkpoint.entry(WEB, 'w')).toBeDefined();
});

test.each([
  ['null', null],
  ['without what is applied', { uid: 'w', seq: 1 }],
  ['with a number as its revision', entry('A', { revision: 7 })],
  ['with templates that are none', entry('A', { looks: [7] })],
  ['with versions that are none', entry('A', { seen: { ConfigMap: '7' } })],
])('an entry %s is left out, and the others are believed', async (_is, damaged) => {
  const workloads = { [WEB]: damaged, 'Deployment/shop/other': entry('A') } as ShardContent['workloads'];
  const { checkpoint } = await reader([{ workloads }]);
  await checkpoint.load();
  checkpoint.awaits('Deployment');
  checkpoint.forgetPast();
  expect(checkpoint.entry(WEB, 'w')).toBeUndefined();
  expect(checkpoint.entry('Deployment/shop/other', 'w')).toBeDefined();
});

test.each([{ workloads: 7 }, { seen: { ConfigMap: {} } }, { told: { Deployment: null } }, { holds: { 1: 7 } }])(
  'a shard that is damaged is none: %j',
  async (damaged) => {
    const { checkpoint } = await reader([damaged]);
    expect((await checkpoint.load()).result).toBe('first-start');
  },
);

test('a shard that the server refuses is told, and the others are still believed', async () => {
  const { checkpoint } = await reader([{ shards: 2, workloads: { [WEB]: entry('A') } }, 'Forbidden']);
  expect(await checkpoint.load()).toMatchObject({
    ...{ result: 'found', lost: ['attune-ledger-1'], unreadable: { status: 403 } },
  });
  expect(checkpoint.entry(WEB, 'w')).toBeDefined();
});

test('how far events were received is the least of the source’s kind and the workload’s', async () => {
  const { checkpoint } = await reader([
    { seen: { ConfigMap: 50, Secret: 20 }, told: { Deployment: 30 }, workloads: { [WEB]: entry('A') } },
  ]);
  await checkpoint.load();
  expect(checkpoint.seenOf('ConfigMap', WEB)).toBe(30);
  expect(checkpoint.seenOf('ConfigMap', 'DaemonSet/shop/web')).toBe(50);
  expect(checkpoint.seenOf('SecretProviderClass', WEB)).toBeUndefined();
  expect(checkpoint.entry(WEB, 'w')?.seen).toEqual({ ConfigMap: 30, Secret: 20 });
});

test('a second load forgets what the first one found', async () => {
  const shards: (object | undefined)[] = [{ seen: { ConfigMap: 5 }, workloads: { [WEB]: entry('A') } }];
  const { checkpoint } = await reader(shards);
  await checkpoint.load();
  shards[0] = undefined;
  expect((await checkpoint.load()).result).toBe('first-start');
  expect(checkpoint.entry(WEB, 'w')).toBeUndefined();
  expect(checkpoint.seenOf('ConfigMap', WEB)).toBeUndefined();
});
