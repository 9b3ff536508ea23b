import { expect, test } from 'vitest';
import { source, stateOf, WEB, web, webObject } from '../../../test/support/engine-world.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { idAsReleased, recordAsReleased, shardAsReleased } from '../../../test/support/released/checks.ts';
import { startClient } from '../../../test/support/scripted-client.ts';
import { change, tellingWorld } from '../../../test/support/telling-world.ts';
import { writing } from '../../../test/support/writing-world.ts';
import { RECORD } from '../../api/annotations.ts';
import type { KubeObject } from '../../api/objects.ts';

import { LedgerReport } from '../report/ledger-report.ts';
import { Checkpoint } from './checkpoint.ts';

const ID = idAsReleased('ConfigMap', 'app');

test('0.1.0 reads the record that a rollout carries', async () => {
  const world = await writing();
  world.put(source('B', 10));
  const pass = world.reconcile();
  await eventually(() => world.writes.length).toBe(1);
  const { metadata } = JSON.parse(world.writes[0]?.body ?? '') as KubeObject;
  const { uid } = world.state().workload;
  const record = recordAsReleased(metadata.annotations?.[RECORD], uid, 'k');
  expect(record).toMatchObject({ v: 1, seq: 1, sources: { [ID]: 'B' }, revision: 'r2' });
  world.writes[0]?.json(200, webObject(20, { mark: 'B' }));
  await pass;
});

test('0.1.0 reads the checkpoint', async () => {
  const { clock, deps } = tellingWorld();
  const texts: string[] = [];
  const { client } = await startClient((exchange) => {
    if (exchange.verb === 'get') return exchange.status(404, 'NotFound');
    const shard = JSON.parse(exchange.body) as { data: { ledger: string } };
    texts.push(shard.data.ledger);
    exchange.json(200, { ...shard, metadata: { resourceVersion: '1' } });
  });
  const state = stateOf(web(3));
  state.settled([{ ...change('app'), current: 'A', since: 0 }], 0);
  const checkpoint = new Checkpoint({
    client,
    clock,
    namespace: 'attune',
    keyId: 'k',
    former: undefined,
    mayStore: () => true,
    catchUpMaxMs: Number.POSITIVE_INFINITY,
    states: () => new Map([[WEB, state]]),
    heard: () => ({ seen: { ConfigMap: 7 }, told: { Deployment: 8 } }),
    mayWrite: () => true,
    report: new LedgerReport(deps),
  });
  await checkpoint.load();
  checkpoint.forgetPast();
  await checkpoint.establish();
  checkpoint.stop();
  expect(shardAsReleased(texts[0])).toMatchObject({
    key: 'k',
    shards: 1,
    seen: { ConfigMap: 7 },
    told: { Deployment: 8 },
    workloads: { [WEB]: { uid: state.workload.uid, seq: 0, applied: { [ID]: 'A' } } },
  });
});
