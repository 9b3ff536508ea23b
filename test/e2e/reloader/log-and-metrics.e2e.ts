import { beforeEach, expect, test } from 'vitest';
import { DEFAULT_KEYS, SOURCES } from '../../../src/api/annotations.ts';
import type { Controller } from '../../support/controller.ts';
import { faultProxy } from '../../support/proxy.ts';
import { type AnyObject, api } from '../../support/sandbox.ts';
import { until } from '../../support/wait.ts';
import { HELD_OPEN, pathOf, podUsing, UNMARKED } from '../../support/workloads.ts';
import { commandLine } from '../cli/run.ts';
import { AUTO, marksOf, podWith, untilMarked } from './moves.ts';
import { receiver } from './receiver.ts';
import { COMPAT, DEFAULT, MODES, type Scene, scene } from './scene.ts';

const proxy = await faultProxy();
beforeEach(() => proxy.setRules([]));
const env: Record<string, string> = {};
const attuneCli = commandLine(undefined, env);

const V1 = { value: '1' };
const V2 = { value: '2' };
const V3 = { value: '3' };
const NAMES = Array.from({ length: 40 }, (_, n) => `app-${n}`);
const JSON_LOG = '--log-format=json';

const through = (here: Scene) => ({ access: { ...here.stage.access, server: proxy.access.server } });
/** Ours about a workload, not those of its own controller. */
const eventsOf = (here: Scene, name: string): readonly AnyObject[] =>
  here.audit
    .all('Event')
    .filter(({ involvedObject, reason }) => involvedObject.name === name && reason !== 'ScalingReplicaSet');
const metricBecomes = (attune: Controller, name: string, value: number) =>
  until(async () => (await attune.metric(name)) === value, { what: `${name} ${value}` });

interface Line {
  readonly level: string;
  readonly msg: string;
  readonly [field: string]: string | number;
}
/** What was logged with these values, as a stranger would filter it. */
const logged = ({ lines }: Controller, fields: Readonly<Record<string, string>>): readonly Line[] =>
  lines
    .map((line) => JSON.parse(line) as Line)
    .filter((line) => Object.entries(fields).every(([field, value]) => line[field] === value));

async function withMany(flags: readonly string[], alerts: Readonly<Record<string, string>> = {}, spec = {}) {
  const here = await scene(['Event']);
  await Promise.all(NAMES.map((name) => here.createSource('ConfigMap', name, V1)));
  const envFrom = NAMES.map((name) => ({ configMapRef: { name } }));
  const pod = podWith([{ name: 'app', image: 'app', envFrom }]);
  await here.create('Deployment', 'web', { annotations: AUTO, pod, spec });
  const attune = await here.start(['--quiet-period=4s', JSON_LOG, ...flags], { env: alerts });
  // The last one first: in the order of the names they would be listed as after a revert, and equal Events are counted.
  const change = () => Promise.all(NAMES.toReversed().map((name) => here.setData('ConfigMap', name, V2)));
  const marks = () => Object.keys(marksOf('Deployment', here.audit.latest('Deployment', 'web'))).length;
  return { here, attune, change, marks };
}

test('forty sources that change together: one Event, one line, one alert; all of them are on the Event', async () => {
  await using there = await receiver();
  const alerts = { ALERT_ON_RELOAD: 'true', ALERT_WEBHOOK_URL: there.url };
  const { here, attune, change, marks } = await withMany([], alerts);
  await using _ = here;
  await change();
  await here.audit.until('all of them marked', () => marks() === NAMES.length);
  await here.audit.until('the Event', () => eventsOf(here, 'web').length > 0);
  await there.untilReceived(1);
  await here.fence.pass();
  const [event, ...more] = eventsOf(here, 'web');
  expect(more).toEqual([]);
  expect(event?.['message']).toMatch(
    /^Changes detected in ConfigMap app-\d+(, app-\d+){9} and 30 more in namespace '.*', Updated 'web' of type 'Deployment'/,
  );
  const all = event?.metadata.annotations?.[SOURCES]?.split(',') ?? [];
  expect(all.sort()).toEqual(NAMES.map((name) => `ConfigMap/${name}`).sort());
  const lines = logged(attune, { kind: 'Deployment', namespace: here.space, name: 'web' });
  expect(lines).toMatchObject([
    { level: 'info', sources: 40, source: expect.stringMatching(/^ConfigMap\/.* and 30 more$/) },
  ]);
  // Nor is there another line about them that names no workload.
  const others = attune.lines.filter((line) => /app-\d/.test(line));
  expect(others).toHaveLength(1);
  expect(there.received.filter(({ body }) => body.includes('web'))).toMatchObject([
    { body: expect.stringMatching(/^Reloader detected changes in ConfigMap app-\d+, .* and 30 more in namespace/) },
  ]);
});

test('with Stakater’s rules each source has its own line, Event and alert', async () => {
  await using there = await receiver();
  const { here, attune } = await withMany([COMPAT], { ALERT_ON_RELOAD: 'true', ALERT_WEBHOOK_URL: there.url });
  await using _ = here;
  for (const name of NAMES.slice(0, 2)) await here.setData('ConfigMap', name, V2);
  await there.untilReceived(2);
  const words = (name: string) => `Changes detected in '${name}' of type 'CONFIGMAP' in namespace '${here.space}'`;
  await here.audit.until('both Events', () => eventsOf(here, 'web').length === 2);
  for (const name of NAMES.slice(0, 2)) {
    const what = `'web' of type 'Deployment' in namespace '${here.space}'`;
    expect(logged(attune, { msg: `${words(name)}; updated ${what}`, level: 'info' })).toHaveLength(1);
    expect(eventsOf(here, 'web').map(({ message }) => message)).toContain(`${words(name)}, Updated ${what}`);
  }
});

test('forty marks that somebody takes away during the rollout: one Event each time, and explain knows all of them as undelivered', async () => {
  const { here, attune, change, marks } = await withMany([], {}, HELD_OPEN);
  await using _ = here;
  const strip = () =>
    api().patch(pathOf('Deployment', here.space, 'web'), { spec: { template: UNMARKED } }, 'strategic');
  await change();
  for (const round of [1, 2]) {
    // By the count of templates: the Event may be seen before the template that was stripped, and the marks of before be taken
    // for those of now.
    const isMarked = () => here.audit.templates('Deployment', 'web').length >= 2 * round && marks() === NAMES.length;
    await here.audit.until('all of them marked', isMarked);
    await strip();
    const isTold = () => eventsOf(here, 'web').filter(({ reason }) => reason === 'ReloadReverted').length === round;
    await here.audit.until('the Event', isTold);
  }
  await metricBecomes(attune, 'attune_undelivered_changes', NAMES.length);
  await here.fence.pass();
  expect(
    eventsOf(here, 'web')
      .map(({ reason }) => reason)
      .sort(),
  ).toEqual(['ReloadReverted', 'ReloadReverted', 'Reloaded', 'Reloaded'].sort());
  expect(logged(attune, { kind: 'Deployment', name: 'web', level: 'warning' })).toHaveLength(2);
  env['ATTUNE_NAMESPACE'] = here.stage.home;
  const { stdout } = await attuneCli(
    'explain',
    'deploy/web',
    '-n',
    here.space,
    '-o',
    'json',
    '--reload-strategy=env-vars',
  );
  const { sources, events } = JSON.parse(stdout);
  expect(sources.map((each: AnyObject) => each['state'].is)).toEqual(NAMES.map(() => 'undelivered'));
  expect(events.length).toBeLessThanOrEqual(5);
});

test.concurrent.each(MODES)(
  'a pause: its beginning and its end are told, and it is pending meanwhile: %s',
  async (mode) => {
    await using here = await scene();
    await here.createSource('ConfigMap', 'app', V1);
    await here.createUser('web', 'app', { annotations: { ...AUTO, [DEFAULT_KEYS.pausePeriod]: '15s' } });
    const attune = await here.start([mode, JSON_LOG]);
    expect(await attune.metric('attune_pending_workloads')).toBe(0);
    await here.setData('ConfigMap', 'app', V2);
    await untilMarked(here.audit, 'Deployment', 'web', V2);
    expect(await attune.metric('attune_pending_workloads')).toBe(1);
    await attune.untilLine(/web resumed: its pause period is over/);
    await metricBecomes(attune, 'attune_pending_workloads', 0);
    const told = logged(attune, { kind: 'Deployment', namespace: here.space, name: 'web', level: 'info' });
    const began = told.filter(({ msg }) => msg.includes('web paused by its pause period until'));
    expect(began).toMatchObject([{ until: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) }]);
    expect(told.filter(({ msg }) => msg.includes('resumed'))).toHaveLength(1);
  },
);

test('a pause that somebody else ends is told', async () => {
  await using here = await scene();
  await here.createSource('ConfigMap', 'app', V1);
  await here.createUser('web', 'app', { annotations: { ...AUTO, [DEFAULT_KEYS.pausePeriod]: '1h' } });
  const attune = await here.start([DEFAULT]);
  await here.setData('ConfigMap', 'app', V2);
  await attune.untilLine(/web paused by its pause period/);
  await api().patch(pathOf('Deployment', here.space, 'web'), { spec: { paused: false } });
  await attune.untilLine(/web resumed: another writer ended its pause period/);
});

test('a write that is refused: pending until it succeeds, and how long it took is measured', async () => {
  await using here = await scene();
  await here.createSource('ConfigMap', 'app', V1);
  await here.createUser('web', 'app');
  const pod = podUsing({ kind: 'ConfigMap', name: 'app' }, 'envFrom');
  await here.create('CronJob', 'suspended', { annotations: AUTO, pod, spec: { suspend: true } });
  const attune = await here.start([DEFAULT, JSON_LOG], through(here));
  expect(await attune.metric('attune_leader')).toBe(1);
  // The next try is not to come by itself: there is one line for each.
  const refuse = { fault: { type: 'status', code: 403, retryAfterSeconds: 60 }, verbs: ['patch'] } as const;
  proxy.setRules([{ ...refuse, path: /\/deployments\/web/ }]);
  await here.setData('ConfigMap', 'app', V3);
  await attune.untilLine(/Rolling upgrade for 'app' failed/);
  // The CronJob is done in the same moment.
  await metricBecomes(attune, 'attune_pending_workloads', 1);
  expect(logged(attune, { kind: 'Deployment', name: 'web', source: 'ConfigMap/app' })).toMatchObject([
    { level: 'error', namespace: here.space, retry: expect.any(String) },
  ]);
  const took = (result: string) => attune.metric('reloader_reconcile_duration_seconds_sum', { result });
  expect(await took('error')).toBeGreaterThan(0);
  await until(async () => ((await took('skipped')) ?? 0) > 0, { what: 'the suspended CronJob left alone' });
  proxy.setRules([]);
  await here.annotate('Deployment', 'web', { 'attune.dev/retry': 'now' });
  await untilMarked(here.audit, 'Deployment', 'web', V3);
  await metricBecomes(attune, 'attune_pending_workloads', 0);
});

test('at the start it says how many workloads ask and how many sources are watched: alone, as standby, without a ledger', async () => {
  await using here = await scene();
  await here.createSource('ConfigMap', 'app', V1);
  await here.createSource('Secret', 'unused', V1);
  await here.createUser('web', 'app');
  await here.createUser('silent', 'app', { annotations: {} });
  await until(() => api().find(pathOf('ConfigMap', here.space, 'kube-root-ca.crt')), {
    what: 'what every namespace has',
  });
  const count = async (kind: 'ConfigMap' | 'Secret' | 'Deployment') => await api().list(pathOf(kind, here.space));
  // All but the one that does not ask.
  const asking = (await count('Deployment')).length - 1;
  const sources = (await count('ConfigMap')).length + (await count('Secret')).length;
  const words = new RegExp(`"${asking} workloads ask for reloads, ${sources} sources are watched"`);
  const alone = await here.start([DEFAULT]);
  await alone.untilLine(words);
  await alone.stop();
  const leader = await here.start([DEFAULT, '--enable-ha'], { env: { POD_NAME: 'one' } });
  await leader.untilLine(/became leader/);
  const standby = await here.start([DEFAULT, '--enable-ha'], { env: { POD_NAME: 'two' } });
  for (const replica of [leader, standby]) await replica.untilLine(words);
  expect([await leader.metric('attune_leader'), await standby.metric('attune_leader')]).toEqual([1, 0]);
  await Promise.all([leader.stop(), standby.stop()]);
  const path = new RegExp(`${here.stage.home}/configmaps`);
  proxy.setRules([{ fault: { type: 'status', code: 403 }, path }]);
  const without = await here.start([DEFAULT], { ...through(here), untilReady: false });
  await without.untilLine(words);
});
