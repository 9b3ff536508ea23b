import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { CONFIG_HASH, RECORD, SAP_LISTS } from '../../../src/api/annotations.ts';
import type { KindName } from '../../../src/api/kinds.ts';
import { Audit } from '../../support/audit.ts';
import { stage } from '../../support/controller.ts';
import { leaveReleasedLedger, RELEASED } from '../../support/released/leave-ledger.ts';
import type { AnyObject } from '../../support/sandbox.ts';
import { AUTO, Fence, movesIn } from '../reloader/moves.ts';

const KINDS: readonly KindName[] = ['Deployment', 'StatefulSet', 'DaemonSet', 'CronJob'];
const isOfCronJob = (job: AnyObject, name: string): boolean =>
  (job.metadata as { ownerReferences?: readonly { name: string }[] }).ownerReferences?.[0]?.name === name;

const LISTED = { kind: 'Deployment', name: 'listed', source: { kind: 'ConfigMap', name: 'listed' } } as const;
const WORKLOADS = [...RELEASED.workloads, LISTED];
const RUNS_BEFORE = new Map(RELEASED.workloads.map(({ name, job }) => [name, job ? 1 : 0]));
// A record of a CronJob is on the Job that was run, which may not be edited.
const RECORDED = RELEASED.workloads.filter(({ kind, record }) => record && kind !== 'CronJob');

/** How often each workload was rolled since the audit began. */
function rollsIn(audit: Audit): Readonly<Record<string, number>> {
  const runs = (name: string) => audit.all('Job').filter((job) => isOfCronJob(job, name)).length;
  const rolls = ({ kind, name }: (typeof WORKLOADS)[number]) =>
    kind === 'CronJob' ? runs(name) - (RUNS_BEFORE.get(name) ?? 0) : audit.templates(kind, name).length - 1;
  return Object.fromEntries(WORKLOADS.map((workload) => [workload.name, rolls(workload)]));
}

const each = (count: number) => Object.fromEntries(WORKLOADS.map(({ name }) => [name, count]));
const recordOf = (audit: Audit, kind: KindName, name: string): string | undefined =>
  audit.latest(kind, name)?.metadata.annotations?.[RECORD];
const exactIn = (record: string | undefined): unknown => Object.values(JSON.parse(record ?? '{}').sources ?? {})[0];
const hashOf = (audit: Audit): string | undefined =>
  audit.latest('Deployment', LISTED.name)?.['spec'].template.metadata.annotations?.[CONFIG_HASH];

test('the ledger of 0.1.0 is not read: nothing rolls for the swap, its fingerprints go, and each later change arrives once', async () => {
  await using at = await stage({ spaces: 2 });
  const [space = '', other = ''] = at.spaces;
  const moves = movesIn(space);
  await leaveReleasedLedger(at);
  // By data alone, and without a key: as it was made until then.
  const hash = createHash('sha256').update(`configmap/${space}/listed/xWQyF1t-YF8ikup5wR8I6Q\n`).digest('hex');
  await moves.createSource('ConfigMap', LISTED.name, { value: '1' });
  await moves.create('Deployment', LISTED.name, {
    annotations: { [SAP_LISTS.ConfigMap]: LISTED.name },
    templateAnnotations: { [CONFIG_HASH]: hash },
  });
  await using audit = await Audit.of(space, [...KINDS, 'Job']);
  const fence = await Fence.in(space, audit);
  expect(RECORDED.map(({ kind, name }) => exactIn(recordOf(audit, kind, name)))).not.toContain(undefined);

  await using controller = await at.start();
  await controller.untilLine(/ledger was written .* by an earlier version/);
  await controller.untilLine(/records of another version are not read/);
  await audit.until('the fingerprints are gone', () =>
    RECORDED.every(({ kind, name }) => exactIn(recordOf(audit, kind, name)) === undefined),
  );
  await fence.pass();
  expect(rollsIn(audit)).toEqual(each(0));
  expect(hashOf(audit)).toBe(hash);
  expect(controller.lines.filter((line) => line.includes('of another version'))).toHaveLength(1);

  // Equal data everywhere, and in another namespace under the same name.
  const twin = RELEASED.workloads.find(({ kind, source }) => kind === 'Deployment' && source.kind === 'Secret');
  const secret = twin?.source.name ?? '';
  await using there = await Audit.of(other, ['Deployment']);
  await movesIn(other).createSource('Secret', secret, { value: 'before' });
  await movesIn(other).create('Deployment', 'twin', {
    annotations: AUTO,
    pod: { containers: [{ name: 'app', image: 'app', envFrom: [{ secretRef: { name: secret } }] }] },
  });
  for (const { source } of WORKLOADS) await moves.setData(source.kind, source.name, { value: 'swap' });
  await movesIn(other).setData('Secret', secret, { value: 'swap' });
  await there.until('the twin', () => recordOf(there, 'Deployment', 'twin'));
  await audit.until('all changes', () => Object.values(rollsIn(audit)).every((count) => count > 0));
  await fence.pass();
  expect(rollsIn(audit)).toEqual(each(1));
  expect(hashOf(audit)).toMatch(/^[0-9a-f]{64}$/);
  expect(hashOf(audit)).not.toBe(hash);
  const records = WORKLOADS.filter(({ kind }) => kind !== 'CronJob').map(({ kind, name }) =>
    recordOf(audit, kind, name),
  );
  const exacts = [...records, recordOf(there, 'Deployment', 'twin')].map(exactIn);
  expect(new Set(exacts).size).toBe(exacts.length);
  expect(exacts).not.toContain(undefined);
});
