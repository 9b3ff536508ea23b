import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { APP, web } from '../../../test/support/engine-world.ts';
import { tellingWorld, verdict } from '../../../test/support/telling-world.ts';
import { CONFIG_MAPS } from '../../api/resources.ts';
import type { SourceRef } from '../../api/sources.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { newState, sourceId } from '../../model/workload-state.ts';
import type { Change } from '../write/act.ts';
import { Report } from './report.ts';

const page = readFileSync(new URL('../../../docs/log.md', import.meta.url), 'utf8');
const [, list = ''] = /<!-- list -->([\s\S]*)<!-- end of list -->/.exec(page) ?? [];
const documented = list.split('\n').flatMap((row) => row.split('|')[1]?.match(/(?<=`)\w+(?=`)/g) ?? []);

const no = { reload: false, because: 'not-asked', rule: 'nobody asks', cures: ['ask'] } as const;
const changeOf = (ref: SourceRef): Change => ({
  ...{ id: sourceId(ref), ref, verdict, difference: 'changed', since: 1, current: 'B', mark: 'b' },
});
const broken = { annotations: { 'deployment.reloader.stakater.com/pause-period': 'x' } };

/** Says everything about workloads and sources that it can say. */
function sayAll(report: Report): void {
  const error = new KubeError({ verb: 'get', path: '/x', status: 403, reason: 'Forbidden' });
  const state = newState(web(3), undefined);
  const { workload } = state;
  const many = [changeOf(APP), changeOf({ ...APP, name: 'other' })];
  const turn = { before: 'A', after: 'B', flagsMoved: false };
  report.sourceChanged(APP, turn, [...Array.from({ length: 4 }, () => [state, no] as const), [state, verdict]]);
  for (const changes of [many.slice(1), many]) report.reloaded(state, changes, 0, { job: { name: 'j', uid: 'j' } });
  report.failed(state, many, { error, startedAt: 0, retry: 'soon' });
  for (const why of ['same', 'left'] as const) report.unchanged(state, many, why, 0);
  report.settledByOther(state, APP);
  report.reverted(state, [APP], true);
  report.problems(newState(web(3, broken), undefined));
  report.watching({ asking: 1, sources: 2 });
  report.paused(workload, 0);
  report.resumed(workload, 'us');
  report.notResumed(workload, error);
  report.recordNotRewritten('Deployment/shop/web', error);
  report.stuckJob(workload.ref, error);
  report.unreadable(APP, error);
  report.unreadable(APP, error);
  report.readByListing(APP, error);
  report.retrying(CONFIG_MAPS, error, 5);
  report.refusedEvent(error);
  report.weakKey(3, error);
  report.ledgerFailed(error);
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
