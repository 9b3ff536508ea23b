import { expect, test } from 'vitest';
import { WEB, web } from '../../test/support/engine-world.ts';
import { eventually } from '../../test/support/eventually.ts';
import type { Exchange } from '../../test/support/scripted-api.ts';
import { startClient } from '../../test/support/scripted-client.ts';
import { virtualClock } from '../../test/support/virtual-clock.ts';
import { Checkpoint } from './checkpoint.ts';
import { newState } from './workload-state.ts';

interface Shard {
  readonly metadata: { readonly name: string; readonly resourceVersion?: string };
  readonly data: { readonly ledger: string };
}

/** One ConfigMap, on a server that leaves it to the test when a write is carried out. */
async function ledger() {
  const clock = virtualClock();
  const writes: { readonly carryOut: () => void }[] = [];
  let stored: Shard | undefined;
  const carryOut = (exchange: Exchange): void => {
    const shard = JSON.parse(exchange.body) as Shard;
    if (stored?.metadata.resourceVersion !== shard.metadata.resourceVersion) {
      exchange.status(409, 'Conflict');
      return;
    }
    const version = Number(stored?.metadata.resourceVersion ?? 0) + 1;
    stored = { ...shard, metadata: { ...shard.metadata, resourceVersion: String(version) } };
    exchange.json(200, stored);
  };
  const { client } = await startClient((exchange) => {
    if (exchange.verb !== 'get') writes.push({ carryOut: () => carryOut(exchange) });
    else if (stored) exchange.json(200, stored);
    else exchange.status(404, 'NotFound');
  });
  const state = newState(web(3), undefined);
  const checkpoint = new Checkpoint({
    client,
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
  const { clock, checkpoint, writes, apply, stored } = await ledger();
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
