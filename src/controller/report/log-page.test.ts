import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { APP, web } from '../../../test/support/engine-world.ts';
import { change, failed, rolled, tellingWorld, verdict } from '../../../test/support/telling-world.ts';
import { CONFIG_MAPS } from '../../api/resources.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { Report } from './report.ts';

const page = readFileSync(new URL('../../../docs/log.md', import.meta.url), 'utf8');
const [, list = ''] = /<!-- list -->([\s\S]*)<!-- end of list -->/.exec(page) ?? [];
const documented = list.split('\n').flatMap((row) => row.split('|')[1]?.match(/(?<=`)\w+(?=`)/g) ?? []);

const no = { reload: false, because: 'not-asked', rule: 'nobody asks', cures: ['ask'] } as const;
const broken = web(3, { annotations: { 'deployment.reloader.stakater.com/pause-period': 'x' } });

/** Says everything about workloads and sources that it can say. */
function sayAll(report: Report): void {
  const error = new KubeError({ verb: 'get', path: '/x', status: 403, reason: 'Forbidden' });
  const workload = web(3);
  const many = [change(APP.name), change('other')];
  const moved = { before: 'A', after: 'B', flagsMoved: false };
  report.sourceChanged(APP, moved, [...Array.from({ length: 4 }, () => [workload, no] as const), [workload, verdict]]);
  for (const changes of [many.slice(1), many]) report.tell(rolled(changes, { job: { name: 'j', uid: 'j' } }));
  report.tell(failed(many, error.message));
  for (const why of ['nothing-to-write', 'left-alone', 'deleted'] as const) {
    report.tell({ is: 'skipped', workload, changes: many, why, startedAt: 0 });
  }
  report.tell({ is: 'settled-by-another-writer', workload, sources: [APP] });
  report.tell({ is: 'reverted', workload, sources: [APP] });
  report.tell({ is: 'invalid', workload: broken, problems: broken.intent.problems });
  report.watches.watching({ asking: 1, sources: 2 });
  report.tell({ is: 'paused', workload, until: 0 });
  report.tell({ is: 'resumed', workload, by: 'us' });
  report.tell({ is: 'not-resumed', workload, error: error.message });
  report.ledger.recordNotRewritten('Deployment/shop/web', error);
  report.system.stuckJob(workload.ref, error);
  report.ledger.unsafeJob(workload.ref, error);
  report.watches.unreadable(APP, error);
  report.watches.unreadable(APP, error);
  report.watches.readByListing(APP, error);
  report.watches.retrying(CONFIG_MAPS, error, 5);
  report.system.refusedEvent(error);
  report.ledger.weakKey(3, error);
  report.ledger.otherRecords(2);
  report.ledger.ledgerState(new Map([['attune-ledger-0', error]]));
}

test('docs/log.md lists exactly the fields that there are', async () => {
  const { deps, lines } = tellingWorld();
  sayAll(new Report(deps));
  await Promise.resolve();
  const used = lines.flatMap((line) => line.replace(/"(\\.|[^"\\])*"/g, '""').match(/(?<= )\w+(?==)/g) ?? []);
  const fields = new Set(used.filter((field) => !['level', 'msg'].includes(field)));
  expect([...fields].sort()).toEqual([...documented].sort());
});

test('every line about a workload is found by its namespace, kind and name', async () => {
  const { deps, lines } = tellingWorld();
  sayAll(new Report(deps));
  await Promise.resolve();
  const about = lines.filter((line) => /Deployment shop\/web|'web' of type/.test(line));
  expect(about.length).toBeGreaterThan(15);
  expect(about.filter((line) => !/kind=Deployment .*name=web namespace=shop/.test(line))).toEqual([]);
});
