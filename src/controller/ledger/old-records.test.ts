import { expect, test } from 'vitest';
import { WEB, web, webObject } from '../../../test/support/engine-world.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { startClient } from '../../../test/support/scripted-client.ts';
import { tellingWorld } from '../../../test/support/telling-world.ts';
import { RECORD } from '../../api/annotations.ts';
import { encodeRecord } from '../../domain/ledger/record.ts';
import type { WorkloadKey } from '../../domain/workload/workload.ts';
import { KeyedQueue } from '../../runtime/queue.ts';
import { LedgerReport } from '../report/ledger-report.ts';
import { noteOtherRecords, rewriteRecords } from './old-records.ts';

const NOW = { uid: 'w', seq: 3, key: 'k', template: 't', sources: { 'Secret/db': 'x' } } as const;
const EMPTIED = encodeRecord({ uid: 'w', seq: 3, key: '', template: '', sources: {} });
const inVersion = (v: number): string => JSON.stringify({ ...NOW, v });

test('workloads with records of other versions are told in one line, with their number', () => {
  const { deps, lines, clock } = tellingWorld();
  const report = new LedgerReport(deps);
  const queue = new KeyedQueue<WorkloadKey>({ clock });
  const texts = [inVersion(1), encodeRecord(NOW), inVersion(3), '{', inVersion(1)];
  const states = texts.map((text, at) => {
    const workload = web(3, { annotations: { [RECORD]: text } });
    return [`Deployment/shop/w${at}` as WorkloadKey, { workload }] as const;
  });
  noteOtherRecords(new Map(states), queue, report);
  expect(lines).toEqual([
    expect.stringMatching(
      /level=info msg="records of another version are not read: .* counts as current" workloads=3$/,
    ),
  ]);
  expect(queue.size).toBe(3);
  noteOtherRecords(new Map(states.slice(1, 2)), queue, report);
  expect(lines).toHaveLength(1);
});

test.each([
  ['version 1 shows who has the same Secret: its fingerprints are taken out', inVersion(1), EMPTIED],
  ['a later version is not ours to edit', inVersion(3), undefined],
  ['the present one stays', encodeRecord(NOW), undefined],
])('%s', async (_, text, left) => {
  const { deps, clock } = tellingWorld();
  const object = webObject(3, { annotations: { [RECORD]: text } });
  const { client, api } = await startClient((exchange) => exchange.json(200, object));
  const queue = new KeyedQueue<WorkloadKey>({ clock });
  const term = new AbortController();
  const leadership = { mayWrite: () => true } as never;
  const report = new LedgerReport(deps);
  const running = rewriteRecords({ client, clock, leadership, former: undefined, queue, report }, term.signal);
  queue.add(WEB);
  const wanted = left === undefined ? ['get'] : ['get', 'patch'];
  await eventually(() => api.requests.map(({ verb }) => verb)).toEqual(wanted);
  term.abort();
  await running;
  expect(api.requests).toHaveLength(wanted.length);
  if (left === undefined) return;
  // The annotation alone, at the version that was read.
  expect(JSON.parse(api.requests[1]?.body ?? '')).toEqual({
    metadata: { resourceVersion: '3', annotations: { [RECORD]: left } },
  });
});
