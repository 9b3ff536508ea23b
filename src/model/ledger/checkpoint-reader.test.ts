import { expect, test } from 'vitest';
import { startClient } from '../../../test/support/scripted-client.ts';
import { CheckpointReader } from './checkpoint-reader.ts';
import type { ShardContent } from './shard.ts';

const SERVER_MS = Date.UTC(2026, 0, 1, 12);
const WEB = 'Deployment/shop/web';

/** The content of each shard, by its number, or why it may not be read. */
async function reader(shards: readonly (Partial<ShardContent> | 'Forbidden' | undefined)[]) {
  const { client, api } = await startClient(({ path, json, status }) => {
    const n = Number(path.slice(path.lastIndexOf('-') + 1));
    const content = shards[n];
    if (content === 'Forbidden') return status(403, 'Forbidden');
    if (!content) return status(404, 'NotFound');
    const ledger = JSON.stringify({ v: 1, key: 'k', alive: SERVER_MS, shards: 1, workloads: {}, ...content });
    const metadata = { name: `attune-ledger-${n}`, resourceVersion: String(10 + n) };
    json(200, { metadata, data: { ledger } }, { date: new Date(SERVER_MS).toUTCString() });
  });
  const options = { client, namespace: 'attune', keyId: 'k', former: undefined, catchUpMaxMs: 60_000 };
  const checkpoint = new CheckpointReader(options);
  return { checkpoint, verbs: () => new Set(api.requests.map(({ verb }) => verb)), options };
}

const entry = (data: string, rest: object = {}) => ({ uid: 'w', seq: 1, applied: { 'ConfigMap/app': data }, ...rest });

test.each([
  ['nothing', [undefined], 'first-start'],
  ['another key', [{ key: 'other' }], 'other-key'],
  ['a time long ago', [{ alive: SERVER_MS - 120_000 }], 'too-old'],
  ['the right one', [{}], 'found'],
] as const)('a checkpoint with %s', async (_is, shards, result) => {
  const { checkpoint } = await reader(shards);
  expect(await checkpoint.load()).toEqual({ result, unreadable: undefined });
  expect(checkpoint.believable).toBe(result === 'found');
});

test('a later shard may know of more shards than the first, and all are read, never written', async () => {
  const { checkpoint, verbs } = await reader([
    { shards: 2 },
    { shards: 4, alive: SERVER_MS + 5 },
    undefined,
    { shards: 4, workloads: { [WEB]: entry('A') } },
  ]);
  await checkpoint.load();
  expect(checkpoint.versions).toEqual(['10', '11', undefined, '13']);
  expect(checkpoint.aliveAt).toBe(SERVER_MS + 5);
  expect(checkpoint.entry(WEB, 'w')?.applied).toEqual({ 'ConfigMap/app': 'A' });
  expect(checkpoint.entry(WEB, 'another')).toBeUndefined();
  expect(verbs()).toEqual(new Set(['get']));
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

test.each([{ workloads: 7 }, { seen: { ConfigMap: {} } }, { told: { Deployment: null } }])(
  'a shard that is damaged is none: %j',
  async (damaged) => {
    const { checkpoint } = await reader([damaged as unknown as ShardContent]);
    expect((await checkpoint.load()).result).toBe('first-start');
  },
);

test('a shard that the server refuses is told, and the others are still believed', async () => {
  const { checkpoint } = await reader([{ shards: 2, workloads: { [WEB]: entry('A') } }, 'Forbidden']);
  expect(await checkpoint.load()).toMatchObject({ result: 'found', unreadable: { status: 403 } });
  expect(checkpoint.entry(WEB, 'w')).toBeDefined();
});

test('how far events were received is the least of the source’s kind and the workload’s', async () => {
  const { checkpoint } = await reader([
    { seen: { ConfigMap: 50, Secret: 20 }, told: { Deployment: 30 }, workloads: { [WEB]: entry('A') } },
  ]);
  await checkpoint.load();
  expect(checkpoint.seenOf('ConfigMap', 'Deployment')).toBe(30);
  expect(checkpoint.seenOf('ConfigMap', 'DaemonSet')).toBe(50);
  expect(checkpoint.seenOf('SecretProviderClass', 'Deployment')).toBeUndefined();
  expect(checkpoint.entry(WEB, 'w')?.seen).toEqual({ ConfigMap: 30, Secret: 20 });
});

test('a second load forgets what the first one found', async () => {
  const shards: (Partial<ShardContent> | undefined)[] = [{ seen: { ConfigMap: 5 }, workloads: { [WEB]: entry('A') } }];
  const { checkpoint } = await reader(shards);
  await checkpoint.load();
  shards[0] = undefined;
  expect((await checkpoint.load()).result).toBe('first-start');
  expect(checkpoint.entry(WEB, 'w')).toBeUndefined();
  expect(checkpoint.seenOf('ConfigMap', 'Deployment')).toBeUndefined();
});
