import { expect, test } from 'vitest';
import { WEB, web } from '../../test/support/engine-world.ts';
import { eventually } from '../../test/support/eventually.ts';
import { virtualClock } from '../../test/support/virtual-clock.ts';
import { KubeError } from '../kube/kube-error.ts';
import { Checkpoint } from './checkpoint.ts';
import { newState } from './workload-state.ts';

interface Shard {
  readonly metadata: { readonly name: string; readonly resourceVersion?: string };
  readonly data: { readonly ledger: string };
}

/** A store of one ConfigMap, of which the test says when a write is carried out. */
function ledger() {
  const clock = virtualClock();
  const writes: { readonly shard: Shard; readonly carryOut: () => void }[] = [];
  let stored: Shard | undefined;
  const refuse = (status: number, reason: string) => new KubeError({ verb: 'get', path: 'ledger', status, reason });
  const put = (shard: Shard): Promise<Shard> =>
    new Promise((resolve, reject) => {
      const carryOut = () => {
        if (stored?.metadata.resourceVersion !== shard.metadata.resourceVersion) return reject(refuse(409, 'Conflict'));
        const version = Number(stored?.metadata.resourceVersion ?? 0) + 1;
        stored = { ...shard, metadata: { ...shard.metadata, resourceVersion: String(version) } };
        resolve(stored);
      };
      writes.push({ shard, carryOut });
    });
  const client = {
    async get() {
      if (!stored) throw refuse(404, 'NotFound');
      return stored;
    },
    create: (_resource: unknown, _namespace: unknown, shard: Shard) => put(shard),
    replace: (_resource: unknown, _ref: unknown, shard: Shard) => put(shard),
  };
  const state = newState(web(3), undefined);
  const checkpoint = new Checkpoint({
    client: client as never,
    clock,
    namespace: 'attune',
    keyId: 'k',
    mayStore: () => true,
    catchUpMaxMs: Number.POSITIVE_INFINITY,
    states: () => new Map([[WEB, state]]),
    mayWrite: () => true,
    report: { checkpoint: () => {}, ledgerWritten: () => {}, ledgerFailed: () => {} },
  });
  return {
    clock,
    checkpoint,
    writes,
    apply(data: string) {
      state.applied.set('ConfigMap/app', data);
      checkpoint.touch(WEB);
    },
    stored: () => JSON.parse(stored?.data.ledger ?? '{}').workloads?.[WEB]?.applied['ConfigMap/app'],
  };
}

test('writes that take longer than a flush stay in their order', async () => {
  const { clock, checkpoint, writes, apply, stored } = ledger();
  await checkpoint.load();
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
  await eventually(stored).toBe('4');
  expect(writes).toHaveLength(3);
});
