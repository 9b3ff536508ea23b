import { expect, test } from 'vitest';
import { webObject } from '../../../test/support/engine-world.ts';
import { RECORD } from '../../api/annotations.ts';
import { encodeRecord, readRecord } from '../../domain/ledger/record.ts';
import { withKey } from './ledger-key.ts';

const weak = withKey(Buffer.from('x'), false);
const now = withKey(Buffer.alloc(32, 1), false, Buffer.from('x'));
const { former } = now;
const exact = (key: typeof weak, value: string): string =>
  key.digest.fingerprint({ kind: 'ConfigMap', namespace: 'shop', name: 'app' }, [{ part: 'data', key: 'a', value }])
    .exact;

const recordBy = (key: typeof weak): string =>
  encodeRecord({
    uid: 'w',
    seq: 3,
    key: key.keyId,
    template: key.digest.text('template'),
    sources: { 'ConfigMap/app': exact(key, '1'), 'Secret/gone': '-', 'Secret/odd': '?' },
    seen: 9,
    at: 5,
  });
const shardBy = (key: typeof weak) => ({
  v: 2 as const,
  key: key.keyId,
  alive: 7,
  shards: 2,
  workloads: { w: { uid: 'w', seq: 4, applied: { 'ConfigMap/app': exact(key, '1') } } },
});

test('a record and a piece of the checkpoint read as if the present key had written them', () => {
  expect(former?.record(recordBy(weak))).toBe(recordBy(now));
  expect(former?.shard(shardBy(weak))).toEqual(shardBy(now));
});

test('what the present key wrote, or any other, stays as it is', () => {
  const other = withKey(Buffer.from('other'), false);
  for (const key of [now, other]) {
    expect(former?.record(recordBy(key))).toBeUndefined();
    expect(former?.shard(shardBy(key))).toEqual(shardBy(key));
  }
  for (const text of [undefined, '', '{', weak.keyId]) expect(former?.record(text)).toBeUndefined();
});

test('a workload gets the record that it is going to have, and nothing else of it moves', () => {
  const annotated = (record: string) => webObject(3, { annotations: { [RECORD]: record } });
  expect(former?.workload(annotated(recordBy(weak)))).toEqual(annotated(recordBy(now)));
  expect(former?.workload(annotated(recordBy(now)))).toBeUndefined();
  expect(readRecord(recordBy(now))?.seq).toBe(3);
});
