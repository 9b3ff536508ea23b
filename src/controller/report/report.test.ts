import { expect, test } from 'vitest';
import { APP, web } from '../../../test/support/engine-world.ts';
import { change, failed, rolled, tellingWorld } from '../../../test/support/telling-world.ts';
import { DEFAULT_KEYS, OUTCOME, SOURCES } from '../../api/annotations.ts';
import type { Verdict } from '../../domain/judge/verdict.ts';
import type { Workload } from '../../domain/workload/workload.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { Report } from './report.ts';

const WHAT = "'web' of type 'Deployment' in namespace 'shop'";

const at = (level: string, lines: readonly string[]) => lines.filter((line) => line.includes(`level=${level}`));

const refusal = (status: number, reason: string, detail?: string) =>
  new KubeError({ verb: 'get', path: '/api/v1/namespaces/shop/secrets/db', status, reason, detail });

const broken = web(3, { annotations: { [DEFAULT_KEYS.pausePeriod]: 'x' } });
const INVALID = { is: 'invalid', workload: broken, problems: broken.intent.problems } as const;

/** The fields by which a line about a workload is found, as logrus prints them. */
const FOUND_BY = /kind=Deployment (?:.* )?name=web namespace=shop/;

test('one source: the words of Stakater, and fields to filter by', () => {
  const { deps, events, lines } = tellingWorld();
  new Report(deps).tell(rolled([change('db', 'Secret')]));
  const cause = "Changes detected in 'db' of type 'SECRET' in namespace 'shop'";
  expect(events).toMatchObject([
    { type: 'Normal', reason: 'Reloaded', message: `${cause}, Updated ${WHAT}`, component: 'reloader-secrets' },
  ]);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain(`msg="${cause}; updated ${WHAT}" kind=Deployment name=web namespace=shop reason=auto`);
  expect(lines[0]).toContain('source=Secret/db');
});

test('forty sources: one Event with a list that ends, one line, one alert, and the rest for who asks for details', () => {
  const { deps, events, lines, alerts, metric } = tellingWorld();
  const changes = Array.from({ length: 40 }, (_, n) => change(`app-${n}`, n < 38 ? 'ConfigMap' : 'Secret'));
  new Report(deps).tell(rolled(changes));
  const names = changes.slice(0, 10).map(({ ref }) => ref.name);
  const cause = `Changes detected in ConfigMap ${names.join(', ')} and 30 more in namespace 'shop'`;
  expect(events.map(({ message }) => message)).toEqual([`${cause}, Updated ${WHAT}`]);
  expect(events[0]?.annotations).toEqual({ [OUTCOME]: 'rolled', [SOURCES]: changes.map(({ id }) => id).join(',') });
  expect(at('info', lines)).toEqual([expect.stringContaining(`${cause}; updated ${WHAT}"`)]);
  expect(at('info', lines)[0]).toMatch(FOUND_BY);
  expect(at('info', lines)[0]).toContain('source="ConfigMap/app-0,ConfigMap/app-1,');
  expect(at('debug', lines)).toHaveLength(40);
  expect(at('debug', lines)[39]).toMatch(/name=web namespace=shop .*source=Secret\/app-39/);
  expect(alerts).toEqual([
    {
      source: `ConfigMap ${names.join(', ')} and 30 more`,
      sourceType: undefined,
      namespaces: ['shop'],
      workload: 'web',
      workloadKind: 'Deployment',
      workloadNamespace: 'shop',
    },
  ]);
  expect(metric('reloader_reload_executed_total{success="true"}')).toBe(1);
  expect(metric('attune_settled_total{how="rolled"}')).toBe(40);
});

test('kinds are named once each', () => {
  const { deps, events } = tellingWorld();
  new Report(deps).tell(rolled([change('a'), change('p', 'Secret'), change('b')]));
  expect(events[0]?.message).toContain('Changes detected in ConfigMap a, b, Secret p in namespace');
});

test('a CronJob tells which Job it ran, a Job that there is a new one, and the Event is on that', () => {
  const { deps, events, lines } = tellingWorld();
  const report = new Report(deps);
  const of = (kind: 'CronJob' | 'Job', name: string): Workload => ({
    ...web(3),
    uid: 'old',
    ref: { kind, namespace: 'shop', name },
  });
  const job = { name: 'once', uid: 'new' };
  const replaced = { ...rolled([change('app')], { workload: of('Job', 'once') }), is: 'replaced', job } as const;
  report.tell(
    rolled([change('app')], { workload: of('CronJob', 'nightly'), job: { name: 'nightly-0af1', uid: 'new' } }),
  );
  report.tell(replaced);
  expect(events.map(({ message, regarding }) => [message.slice(message.indexOf('Updated')), regarding.uid])).toEqual([
    ["Updated 'nightly' of type 'CronJob' in namespace 'shop': created Job 'nightly-0af1'", 'old'],
    ["Updated 'once' of type 'Job' in namespace 'shop': deleted and created again", 'new'],
  ]);
  expect(lines[0]).toContain('job=nightly-0af1 kind=CronJob name=nightly');
  new Report({ ...deps, compat: true }).tell(replaced);
  expect(events[2]).toMatchObject({
    message: expect.stringMatching(/Updated 'once' of type 'Job' in namespace 'shop'$/),
    regarding: { uid: 'old' },
  });
});

test('the longest names fit into an Event', () => {
  const { deps, events } = tellingWorld();
  const name = 'w'.repeat(253);
  const namespace = 'n'.repeat(63);
  const changes = Array.from({ length: 12 }, (_, n) => change(`${n}`.padEnd(253, 'x')));
  const workload: Workload = { ...web(3), ref: { kind: 'Deployment', namespace, name } };
  new Report(deps).tell(rolled(changes, { workload }));
  expect(events[0]?.message).toMatch(/and \d+ more in namespace 'shop', Updated 'w+' of type/);
  expect(events[0]?.message.length).toBeLessThan(1024);
});

test('who wants no alerts gets none, and the others theirs', () => {
  const { deps, alerts } = tellingWorld();
  const loud = change('loud');
  const { verdict, ...rest } = change('silent');
  const silent = { ...rest, verdict: { ...verdict, isSilent: true as const } };
  new Report(deps).tell(rolled([silent]));
  expect(alerts).toEqual([]);
  new Report(deps).tell(rolled([silent, loud]));
  expect(alerts.map(({ source }) => source)).toEqual(['loud']);
});

test('an alert says where the sources are, and where the workload is', () => {
  const { deps, alerts } = tellingWorld();
  const from = (namespace: string) => ({
    ...change('app'),
    ref: { kind: 'ConfigMap', namespace, name: 'app' } as const,
  });
  new Report(deps).tell(rolled([from('team'), from('infra')]));
  expect(alerts).toEqual([
    expect.objectContaining({ namespaces: ['team', 'infra'], workload: 'web', workloadNamespace: 'shop' }),
  ]);
});

test('as Stakater: an Event, a line and an alert for each source', () => {
  const { deps, events, lines, alerts } = tellingWorld();
  const job = { name: 'any', uid: 'any' };
  new Report({ ...deps, compat: true }).tell(rolled([change('app'), change('db', 'Secret')], { job }));
  expect(events.map(({ message, component, annotations }) => [message, component, annotations])).toEqual([
    [
      `Changes detected in 'app' of type 'CONFIGMAP' in namespace 'shop', Updated ${WHAT}`,
      'reloader-configmaps',
      { [OUTCOME]: 'rolled', [SOURCES]: 'ConfigMap/app' },
    ],
    [
      `Changes detected in 'db' of type 'SECRET' in namespace 'shop', Updated ${WHAT}`,
      'reloader-secrets',
      { [OUTCOME]: 'rolled', [SOURCES]: 'Secret/db' },
    ],
  ]);
  expect(at('info', lines)).toHaveLength(2);
  expect(alerts.map(({ source, sourceType }) => [source, sourceType])).toEqual([
    ['app', 'CONFIGMAP'],
    ['db', 'SECRET'],
  ]);
});

test('a change that reloads somebody is told by the reload; who will not is named', () => {
  const { deps, lines } = tellingWorld();
  const no: Verdict = { reload: false, because: 'not-asked', rule: 'nobody asks', cures: ['ask'] };
  const turn = { before: 'A', after: 'B', flagsMoved: false };
  const verdicts = [
    [web(3), change('app').verdict],
    ...Array.from({ length: 5 }, () => [web(3), no] as const),
  ] as const;
  new Report(deps).sourceChanged(APP, turn, verdicts);
  expect(at('debug', lines)).toEqual([
    expect.stringMatching(
      /msg="ConfigMap shop\/app changed" namespace=shop source=ConfigMap\/app willNotReload=5 willReload=1/,
    ),
  ]);
  const said = at('info', lines);
  expect(said).toHaveLength(4);
  expect(said[0]).toMatch(FOUND_BY);
  expect(said[0]).toContain('reason=not-asked source=ConfigMap/app');
  expect(said[3]).toContain('2 more workloads use ConfigMap shop/app and will not roll for it');
});

test('what another writer brought or undid for many sources is one line, and one Event', async () => {
  const { deps, events, lines, metric } = tellingWorld();
  const report = new Report(deps);
  const refs = Array.from({ length: 40 }, (_, n) => change(`app-${n}`).ref);
  const workload = web(3);
  for (const ref of refs) report.tell({ is: 'settled-by-another-writer', workload, sources: [ref] });
  await Promise.resolve();
  expect(at('info', lines)).toEqual([expect.stringMatching(/already rolls for ConfigMap app-0, .* and 30 more/)]);
  expect(at('info', lines)[0]).toMatch(FOUND_BY);
  expect(at('debug', lines)).toHaveLength(40);
  expect(metric('attune_settled_total{how="already-rolled"}')).toBe(40);
  lines.splice(0);
  report.tell({ is: 'undelivered', workload, sources: refs });
  expect(lines).toEqual([expect.stringMatching(/level=warning .*ConfigMap app-0, .* and 30 more/)]);
  expect(lines[0]).toMatch(FOUND_BY);
  expect(events.map(({ reason }) => reason)).toEqual(['ReloadReverted']);
  expect(metric('attune_reverted_total')).toBe(40);
});

test('how long it took is measured, however it ended', () => {
  const { clock, deps, metric } = tellingWorld();
  const report = new Report(deps);
  clock.advance(1500);
  report.tell(rolled([change('app')], { startedAt: 500 }));
  report.tell(failed([change('app')], '403 Forbidden', 250));
  report.tell({ is: 'skipped', workload: web(3), changes: [change('app')], why: 'left-alone', startedAt: 750 });
  const took = (result: string) => metric(`reloader_reconcile_duration_seconds_sum{result="${result}"}`);
  expect([took('success'), took('error'), took('skipped')]).toEqual([1, 1.25, 0.75]);
});

test('a refusal and what is left alone are found by the same fields', () => {
  const { deps, lines, events } = tellingWorld();
  const report = new Report(deps);
  const many = Array.from({ length: 40 }, (_, n) => change(`app-${n}`));
  report.tell(failed(many, '403 Forbidden'));
  report.tell({ is: 'skipped', workload: web(3), changes: many, why: 'left-alone', startedAt: 0 });
  report.tell(INVALID);
  expect(lines).toHaveLength(3);
  for (const line of lines) expect(line).toMatch(FOUND_BY);
  for (const line of lines.slice(0, 2)) expect(line).toMatch(/source="ConfigMap\/app-0,.* and 30 more"/);
  expect(lines[0]).toContain('retry=soon');
  expect(events.map(({ reason, annotations }) => [reason, annotations])).toEqual([
    ['ReloadFail', { [OUTCOME]: 'failed', [SOURCES]: many.map(({ id }) => id).join(',') }],
    ['InvalidAnnotation', { [OUTCOME]: 'invalid' }],
  ]);
});

test('a standby says and counts nothing of what others do', () => {
  const { deps, events, lines, metric } = tellingWorld();
  const report = new Report({ ...deps, mayTell: () => false });
  const workload = web(3);
  report.tell({ is: 'settled-by-another-writer', workload, sources: [APP] });
  report.tell({ is: 'reverted', workload, sources: [APP] });
  report.sourceChanged(APP, { before: 'A', after: 'B', flagsMoved: false }, [[web(3), change('app').verdict]]);
  report.tell(INVALID);
  report.ledger.checkpoint('found');
  expect([lines, events]).toEqual([[], []]);
  expect(metric('attune_settled_total{how="already-rolled"}')).toBeUndefined();
  expect(metric('attune_reverted_total')).toBe(0);
});

test('Events that do not arrive are told for many at once, with a cure where there is one', () => {
  const { deps, events, lines } = tellingWorld();
  const report = new Report(deps);
  report.tell(rolled([change('app')]));
  const [event] = events;
  if (!event) throw new Error('no Event');
  lines.splice(0);
  report.system.droppingEvents('full', event);
  report.system.droppedEvents('full', 5978);
  for (let n = 0; n < 9; n += 1) report.system.refusedEvent(refusal(403, 'Forbidden'));
  report.system.refusedEvent(refusal(403, 'Forbidden', 'because it is being terminated'));
  expect(lines.map((line) => /msg="([^"]*)/.exec(line)?.[1])).toEqual([
    'Events are being dropped: too many were waiting for the API server',
    '5978 Events were dropped: too many were waiting for the API server',
    'Events do not arrive: get /api/v1/namespaces/shop/secrets/db: 403 Forbidden',
  ]);
  expect(lines[2]).toContain('grant create and patch on events');
});
