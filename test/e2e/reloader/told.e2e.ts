import { beforeEach, expect, test } from 'vitest';
import { LEASES } from '../../../src/api/resources.ts';
import { RULES } from '../../support/controller.ts';
import { faultProxy } from '../../support/proxy.ts';
import { api } from '../../support/sandbox.ts';
import { until } from '../../support/wait.ts';
import { envFrom, pathOf } from '../../support/workloads.ts';
import { AUTO, podWith, untilMarked } from './moves.ts';
import { DEFAULT, type Scene, scene } from './scene.ts';

const proxy = await faultProxy();
beforeEach(() => proxy.setRules([]));

const V1 = { value: '1' };
const V2 = { value: '2' };
const V3 = { value: '3' };
const NAMES = ['one', 'two', 'three'];

const through = (here: Scene) => ({ access: { ...here.stage.access, server: proxy.access.server } });
const rollouts = (here: Scene, name: string) => here.audit.templates('Deployment', name).length - 1;
const ERRORS = 'attune_source_read_errors_total';

/** The chart's rights, less the reading of single Secrets. */
function unread(rule: object): readonly object[] {
  const { resources = [] } = rule as { readonly resources?: readonly string[] };
  if (!resources.includes('secrets')) return [rule];
  const secrets = { ...rule, resources: ['secrets'], verbs: ['list', 'watch'] };
  return [{ ...rule, resources: resources.filter((each) => each !== 'secrets') }, secrets];
}

async function withSecrets(rules?: readonly object[]): Promise<Scene> {
  const here = await scene([], rules ? { rules } : {});
  for (const name of NAMES) {
    await here.createSource('Secret', name, V1);
    const pod = podWith([{ name: 'app', image: 'app', ...envFrom({ kind: 'Secret', name }) }]);
    await here.create('Deployment', name, { annotations: AUTO, pod });
  }
  return here;
}

test('Secrets that may be listed and watched but not read: said once, and no change is lost for it', async () => {
  await using here = await withSecrets(RULES.flatMap(unread));
  const first = await here.start([DEFAULT]);
  expect(await first.metric('attune_unread_sources')).toBe(0);
  await here.setData('Secret', 'one', V2);
  await untilMarked(here.audit, 'Deployment', 'one', V2);
  await here.fence.pass();
  const said = first.lines.filter((line) => /secret/i.test(line) && /level=(warning|error)/.test(line));
  expect(said).toEqual([expect.stringContaining('secrets may not be read one by one')]);
  expect(said[0]).toContain('grant get on secrets');
  const refusals = (await first.metric(ERRORS, { kind: 'Secret', reason: 'Forbidden' })) ?? 0;
  // Each is tried once at most.
  expect([refusals > 0, refusals <= NAMES.length + 1]).toEqual([true, true]);
  expect(await first.metric(ERRORS, { kind: 'ConfigMap' })).toBeUndefined();
  await first.stop();

  await here.setData('Secret', 'two', V2);
  await here.start([DEFAULT]);
  await untilMarked(here.audit, 'Deployment', 'two', V2);
  await here.fence.pass();
  expect(NAMES.map((name) => rollouts(here, name))).toEqual([1, 1, 0]);
});

test('Secrets that cannot be read in any way: one line, visibly unread, bounded tries, and the next change rolls', async () => {
  await using here = await withSecrets();
  proxy.setRules([
    { fault: { type: 'status', code: 403 }, verbs: ['get'], path: new RegExp(`${here.space}/secrets/`) },
    { fault: { type: 'status', code: 403 }, verbs: ['list'], path: /\/secrets\?.*metadata\.name/ },
  ]);
  const attune = await here.start([DEFAULT], through(here));
  const unreadNow = () => attune.metric('attune_unread_sources');
  expect(await unreadNow()).toBe(NAMES.length + 1);
  const tries = await attune.metric(ERRORS, { kind: 'Secret', reason: 'Forbidden' });
  await here.setData('Secret', 'one', V2);
  await untilMarked(here.audit, 'Deployment', 'one', V2);
  await here.fence.pass();
  expect(rollouts(here, 'one')).toBe(1);
  expect(await unreadNow()).toBe(NAMES.length - 1);
  expect(attune.lines.filter((line) => line.includes('cannot read'))).toHaveLength(1);
  expect(await attune.metric(ERRORS, { kind: 'Secret', reason: 'Forbidden' })).toBe(tries);
});

test('a ledger that could not be written for a moment is tried again, and nothing is said', async () => {
  await using here = await withSecrets();
  // What is there already is not made, so that the ledger alone is struck.
  await api().create(`/api/v1/namespaces/${here.stage.home}/configmaps`, { metadata: { name: 'attune-info' } });
  const path = new RegExp(`${here.stage.home}/configmaps(\\?|$)`);
  proxy.setRules([{ fault: { type: 'cut', afterBytes: 0 }, verbs: ['create'], path, times: 2 }]);
  const attune = await here.start([DEFAULT], through(here));
  await until(async () => ((await attune.metric('attune_ledger_writes_total', { result: 'success' })) ?? 0) > 0, {
    what: 'the ledger written',
  });
  expect(await attune.metric('attune_ledger_writes_total', { result: 'error' })).toBeGreaterThan(0);
  await here.fence.pass();
  expect(attune.lines.filter((line) => /level=(warning|error)/.test(line) && /ledger|server/.test(line))).toEqual([]);
});

test('what others do is told by the one who leads, and by no other', async () => {
  await using here = await scene();
  await here.createSource('ConfigMap', 'app', V1);
  await here.createUser('web', 'app');
  const replica = (name: string) => here.start(['--quiet-period=5s', '--enable-ha'], { env: { POD_NAME: name } });
  const leader = await replica('one');
  const lease = `/apis/${LEASES.group}/v1/namespaces/${here.stage.home}/${LEASES.plural}/stakater-reloader-lock`;
  await until(async () => (await api().get(lease))['spec'].holderIdentity === 'one', { what: 'the first one leading' });
  const standby = await replica('two');
  await here.setData('ConfigMap', 'app', V2);
  const containers = [{ name: 'app', image: 'next' }];
  await api().patch(
    pathOf('Deployment', here.space, 'web'),
    { spec: { template: { spec: { containers } } } },
    'strategic',
  );
  await leader.untilLine(/already rolls for ConfigMap app/);
  // Whatever it says of this it has said when it knows of what came later.
  const seen = () => standby.metric('reloader_events_received_total', { event_type: 'update' });
  await here.setData('ConfigMap', 'app', V3);
  await untilMarked(here.audit, 'Deployment', 'web', V3);
  await until(async () => ((await seen()) ?? 0) > 1, { what: 'the later change being seen' });
  const settled = { how: 'already-rolled' };
  expect(await leader.metric('attune_settled_total', settled)).toBe(1);
  expect(await standby.metric('attune_settled_total', settled)).toBeUndefined();
  const told = /already rolls|caught up|counts as current|changed"|updated '/;
  expect(standby.lines.filter((line) => told.test(line))).toEqual([]);
  expect([await leader.metric('attune_leader'), await standby.metric('attune_leader')]).toEqual([1, 0]);
});
