import { expect, test } from 'vitest';
import { RECORD } from '../../../src/api/annotations.ts';
import type { KindName } from '../../../src/api/kinds.ts';
import { Audit } from '../../support/audit.ts';
import { stage } from '../../support/controller.ts';
import { idAsReleased, recordAsReleased, shardAsReleased } from '../../support/released/checks.ts';
import { leaveReleasedLedger, RELEASED } from '../../support/released/leave-ledger.ts';
import { type AnyObject, api } from '../../support/sandbox.ts';
import { Fence, movesIn } from '../reloader/moves.ts';

const KINDS: readonly KindName[] = ['Deployment', 'StatefulSet', 'DaemonSet', 'CronJob'];
const isOfCronJob = (job: AnyObject, name: string): boolean =>
  (job.metadata as { ownerReferences?: readonly { name: string }[] }).ownerReferences?.[0]?.name === name;

/** How often each workload was rolled since the audit began. */
function rollsIn(audit: Audit, runsBefore: ReadonlyMap<string, number>): Readonly<Record<string, number>> {
  const runs = (name: string) => audit.all('Job').filter((job) => isOfCronJob(job, name)).length;
  return Object.fromEntries(
    RELEASED.workloads.map(({ kind, name }) => [
      name,
      kind === 'CronJob' ? runs(name) - (runsBefore.get(name) ?? 0) : audit.templates(kind, name).length - 1,
    ]),
  );
}

test('the ledger of 0.1.0 is read: nothing rolls for the swap, and what changed during it arrives once', async () => {
  await using at = await stage();
  const moves = movesIn(at.space);
  const uids = await leaveReleasedLedger(at);
  await using audit = await Audit.of(at.space, [...KINDS, 'Job']);
  const fence = await Fence.in(at.space, audit);
  const runsBefore = new Map(RELEASED.workloads.map(({ name, job }) => [name, job ? 1 : 0]));
  const rolls = () => rollsIn(audit, runsBefore);
  const wanted = Object.fromEntries(
    RELEASED.workloads.map(({ name }) => [name, name.endsWith('changed') || name.endsWith('secret') ? 1 : 0]),
  );

  // Between the end of the one program and the start of the other.
  for (const { name, source } of RELEASED.workloads) {
    if (wanted[name] === 1) await moves.setData(source.kind, source.name, { value: 'swap' });
  }
  await using controller = await at.start();
  await controller.untilLine(/ledger found/);
  const isArrived = () => Object.entries(rolls()).every(([name, count]) => count >= (wanted[name] ?? 0));
  await audit.until('all changes have arrived', isArrived);
  await fence.pass();
  expect(rolls()).toEqual(wanted);

  // And the way back: all that was written meanwhile passes the checks of 0.1.0.
  expect(await controller.stop()).toBe(0);
  const shard = await api().get(`/api/v1/namespaces/${at.home}/configmaps/attune-ledger-0`);
  const kept = shardAsReleased(shard['data'].ledger);
  expect(kept).toMatchObject({ key: RELEASED.shard['key'] });
  for (const { kind, name, source } of RELEASED.workloads) {
    const key = `${kind}/${at.space}/${name}`;
    const uid = uids.get(key) ?? '';
    const id = idAsReleased(source.kind, source.name);
    const entry = { uid, applied: { [id]: expect.stringMatching(/^[\w-]{22}$/) } };
    expect(kept?.['workloads']).toMatchObject({ [key]: entry });
    if (wanted[name] === 0) continue;
    const rolled =
      kind === 'CronJob'
        ? audit
            .all('Job')
            .filter((job) => isOfCronJob(job, name))
            .at(-1)
        : undefined;
    const text = (rolled ?? audit.latest(kind, name))?.metadata.annotations?.[RECORD];
    expect(recordAsReleased(text, uid, String(RELEASED.shard['key']))).toMatchObject({ sources: entry.applied });
  }
});
