import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ABSENT, UNKNOWN } from '../../domain/ledger/applied.ts';
import type { SourceId } from '../../domain/ledger/source-id.ts';
import type { KeptWorkload, ShardContent } from '../../model/ledger/shard.ts';
import { SHARD_BYTES, type ShardEntry, shardText } from './shard-text.ts';

const HEAD = { v: 2, key: 'k', alive: 1, shards: 1, seen: { ConfigMap: 7 } } as const;
const read = (text: string): ShardContent => JSON.parse(text) as ShardContent;
const keyOf = (namespace: string, name: string) => `Deployment/${namespace}/${name}` as const;

const entry = (namespace: string, name: string, sources: number, parts: Partial<KeptWorkload> = {}): ShardEntry => ({
  key: keyOf(namespace, name),
  kept: {
    ...{ uid: `${namespace}-${name}`, seq: 1, looks: [['0123456789', 5]], revision: 'r1' },
    applied: Object.fromEntries(
      Array.from({ length: sources }, (_, n) => [
        `ConfigMap/source-number-${n}`,
        n % 2 === 0 ? ABSENT : 'A'.repeat(22),
      ]),
    ),
    ...parts,
  },
});

/** Anything that tenants can bring about: names of any length and letters, any number of sources, pods and workloads. */
const odd = fc.constantFrom('a', '"', '\\', '\u0001', 'ä', '€', '😀', '\ud800');
const workload = fc.record({
  namespace: fc.constantFrom('shop', 'evil', 'other'),
  sources: fc.constantFrom(0, 1, 30, 1200),
  letter: odd,
  length: fc.constantFrom(1, 60, 253),
  pods: fc.constantFrom(0, 3, 9000),
  waiting: fc.constantFrom(0, 2, 1000),
  revision: fc.constantFrom(1, 100_000),
});

test('whatever tenants do, a shard fits, and what fits into its share is kept as it is', () => {
  fc.assert(
    fc.property(fc.array(workload, { maxLength: 30 }), (workloads) => {
      const entries = workloads.map(
        ({ namespace, sources, letter, length, pods, waiting, revision }, at): ShardEntry => {
          const ids = Array.from({ length: sources }, (_, n): SourceId => `Secret/${letter.repeat(length)}${n}`);
          const data = (n: number): string => [ABSENT, UNKNOWN, 'A'.repeat(22)][n % 3] ?? '';
          const restart = {
            at: 1,
            version: 2,
            pods,
            uids: Array.from({ length: pods }, () => 'u'.repeat(36)),
            changes: {},
          };
          return {
            key: keyOf(namespace, `web-${at}`),
            kept: {
              ...{ uid: `u${at}`, seq: 1, revision: 'r'.repeat(revision) },
              applied: Object.fromEntries(ids.map((id, n) => [id, data(n)])),
              ...(pods > 0 && { restart }),
            },
            waiting: ids.slice(0, waiting),
          };
        },
      );
      const { text, cut } = shardText(HEAD, entries);
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(SHARD_BYTES);
      const stored = read(text).workloads;
      for (const { key, kept, waiting = [] } of entries) {
        const found = stored[key];
        if (!cut.has(key)) {
          expect(JSON.stringify(found) === JSON.stringify(kept)).toBe(true);
          continue;
        }
        if (!found) continue;
        expect(found.partial).toBe(true);
        const { applied } = JSON.parse(JSON.stringify(kept)) as KeptWorkload;
        expect(Object.entries(found.applied).every(([id, data]) => applied[id as SourceId] === data)).toBe(true);
        expect(cut.get(key)?.isRestartLost).toBe(kept.restart !== undefined && found.restart === undefined);
        const unknown = Object.keys(kept.applied).filter((id) => kept.applied[id as SourceId] === UNKNOWN);
        const isOpenKept = [...waiting, ...unknown].every((id) => id in found.applied);
        // What waits is named, or else any write of a source counts as a change.
        if (!isOpenKept) expect(found.seen).toEqual({ ConfigMap: 0, Secret: 0, SecretProviderClass: 0 });
      }
    }),
    { numRuns: 30 },
  );
});

test('one namespace cannot take the room of another', () => {
  const evil = Array.from({ length: 20 }, (_, n) => entry('evil', `w${n}`, 5000));
  const shop = Array.from({ length: 100 }, (_, n) => entry('shop', `w${n}`, 10));
  const { text, cut, crowding } = shardText(HEAD, [...evil, ...shop]);
  const stored = read(text).workloads;
  for (const { key, kept } of shop) expect(stored[key]).toEqual(kept);
  expect([...cut.keys()].every((key) => key.startsWith('Deployment/evil/'))).toBe(true);
  expect(crowding).toBeGreaterThan(32);
});

test('within a namespace the large ones are cut and the small ones are not', () => {
  const large = Array.from({ length: 10 }, (_, n) => entry('shop', `large-${n}`, 5000));
  const small = Array.from({ length: 20 }, (_, n) => entry('shop', `small-${n}`, 10));
  const { text, cut } = shardText(HEAD, [...large, ...small]);
  for (const { key, kept } of small) expect(read(text).workloads[key]).toEqual(kept);
  expect([...cut.keys()]).toEqual(large.map(({ key }) => key));
});

test('absent sources are left out first, and what waits is kept before all others', () => {
  const { key, kept } = entry('shop', 'web', 20_000);
  const waiting: SourceId[] = ['ConfigMap/source-number-19998'];
  const { text, cut } = shardText(HEAD, [{ key, kept, waiting }]);
  const applied = read(text).workloads[key]?.applied ?? {};
  const isAbsent = (id: string) => applied[id as SourceId] === ABSENT;
  expect(cut.get(key)?.bytes).toBeGreaterThan(256_000);
  expect(Object.keys(applied).filter(isAbsent)).toEqual(waiting);
  expect(Object.keys(applied).length).toBeGreaterThan(4000);
  // All that was open is in it: what is not mentioned counts from where the shard was written.
  expect(read(text).workloads[key]?.seen).toBeUndefined();
});

test('a shard is crowded by many workloads, not by a few with many sources', () => {
  const many = Array.from({ length: 600 }, (_, n) => entry('shop', `w${n}`, 3));
  expect(shardText(HEAD, many).crowding).toBeGreaterThan(1);
  expect(shardText(HEAD, many.slice(0, 100)).crowding).toBe(1);
  expect(shardText(HEAD, [entry('shop', 'a', 4000), entry('shop', 'b', 4000)]).crowding).toBe(1);
});
