import { expect, test } from 'vitest';
import type { KubeObject } from '../../../src/api/objects.ts';
import { LEASES } from '../../../src/api/resources.ts';
import type { Controller } from '../../support/controller.ts';
import { faultProxy } from '../../support/proxy.ts';
import { api } from '../../support/sandbox.ts';
import { until } from '../../support/wait.ts';
import { untilMarked } from '../reloader/moves.ts';
import { DEFAULT, type Scene, scene } from '../reloader/scene.ts';

const HOUR = 3600;

const leasePath = ({ stage }: Scene): string =>
  `/apis/${LEASES.group}/v1/namespaces/${stage.home}/${LEASES.plural}/stakater-reloader-lock`;

/** Makes somebody the holder of the Lease, whoever holds it; '' is nobody. */
async function setHolder(here: Scene, holderIdentity: string): Promise<void> {
  const renewTime = new Date().toISOString().replace('Z', '000Z');
  await api().patch(leasePath(here), { spec: { holderIdentity, renewTime, leaseDurationSeconds: HOUR } });
}

const leads = (attune: Controller, isLeader: 0 | 1): Promise<unknown> =>
  until(async () => (await attune.metric('attune_leader')) === isLeader, { what: `attune_leader ${isLeader}` });

const rollouts = (here: Scene): number => here.audit.templates('Deployment', 'web').length - 1;
const written = (attune: Controller) => attune.metric('reloader_reload_executed_total', { success: 'true' });
const seen = (attune: Controller) => attune.metric('reloader_events_received_total', { event_type: 'update' });

async function webScene(): Promise<Scene> {
  const here = await scene();
  await here.createSource('ConfigMap', 'app', { value: '1' });
  await here.createUser('web', 'app');
  return here;
}

/** Asks for /live all the time; gives every status that was not 200. */
function watchLive(attune: Controller) {
  const wrong: number[] = [];
  let isOver = false;
  const asking = (async () => {
    while (!isOver) {
      const { status } = await attune.ask('/live');
      if (status !== 200) wrong.push(status);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  })();
  return async () => {
    isOver = true;
    await asking;
    return wrong;
  };
}

/** A change that the process sees while it does not lead. Gives a version of the server from before it leads again. */
async function changeUnled(here: Scene, attune: Controller, value: string): Promise<number> {
  const before = (await seen(attune)) ?? 0;
  await here.setData('ConfigMap', 'app', { value });
  await until(async () => ((await seen(attune)) ?? 0) > before, { what: 'the change being seen' });
  const touched = await api().patch(leasePath(here), { metadata: { annotations: { 'test/value': value } } });
  return Number((touched as KubeObject).metadata.resourceVersion);
}

/** The version with which Deployment web got its newest template. */
function rolledAt({ audit }: Scene): number {
  const texts = audit.sightings('Deployment', 'web').map(({ object }) => JSON.stringify(object['spec']));
  const first = texts.indexOf(texts.at(-1) ?? '');
  return Number(audit.sightings('Deployment', 'web')[first]?.object.metadata.resourceVersion);
}

test('who loses the Lease to somebody else stands again: what changed meanwhile and afterwards arrives once', async () => {
  await using here = await webScene();
  const attune = await here.start([DEFAULT, '--enable-ha'], { env: { POD_NAME: 'one' } });
  const liveness = watchLive(attune);
  await leads(attune, 1);
  await here.setData('ConfigMap', 'app', { value: '2' });
  await untilMarked(here.audit, 'Deployment', 'web', { value: '2' });
  for (const term of [1, 2]) {
    await setHolder(here, 'somebody');
    await leads(attune, 0);
    const unled = await changeUnled(here, attune, `${term}, without the lead`);
    await setHolder(here, '');
    await leads(attune, 1);
    await untilMarked(here.audit, 'Deployment', 'web', { value: `${term}, without the lead` });
    expect(rolledAt(here)).toBeGreaterThan(unled);
    await here.setData('ConfigMap', 'app', { value: `${term}, afterwards` });
    await untilMarked(here.audit, 'Deployment', 'web', { value: `${term}, afterwards` });
  }
  await here.fence.pass();
  expect(rollouts(here)).toBe(5);
  expect((await attune.ask('/readyz')).status).toBe(200);
  expect(await liveness()).toEqual([]);
  expect(await attune.stop()).toBe(0);
});

test('who cannot renew the Lease in time writes nothing until it holds it again', async () => {
  await using here = await webScene();
  const proxy = await faultProxy({ through: here.stage.access });
  const attune = await here.start([DEFAULT, '--enable-ha'], { env: { POD_NAME: 'one' }, access: proxy.access });
  const liveness = watchLive(attune);
  await leads(attune, 1);
  proxy.setRules([{ fault: { type: 'status', code: 503 }, verbs: ['update'], path: /leases/ }]);
  await leads(attune, 0);
  const unled = await changeUnled(here, attune, '2');
  proxy.setRules([]);
  await leads(attune, 1);
  await untilMarked(here.audit, 'Deployment', 'web', { value: '2' });
  expect(rolledAt(here)).toBeGreaterThan(unled);
  await here.fence.pass();
  expect(rollouts(here)).toBe(1);
  expect(await liveness()).toEqual([]);
});

test('two replicas that take the lead from each other write each change once between them', async () => {
  await using here = await webScene();
  const replica = (name: string) => here.start([DEFAULT, '--enable-ha'], { env: { POD_NAME: name } });
  const one = await replica('one');
  await leads(one, 1);
  const two = await replica('two');
  const [before, after] = [
    { attune: one, name: 'one' },
    { attune: two, name: 'two' },
  ];
  const turns = Array.from({ length: 4 }, (_, n) => (n % 2 === 0 ? [before, after] : [after, before]));
  for (const [n, [old, next]] of turns.entries()) {
    if (!old || !next) continue;
    await setHolder(here, next.name);
    // While nobody writes, or not yet.
    await here.setData('ConfigMap', 'app', { value: `${n}` });
    await Promise.all([leads(old.attune, 0), leads(next.attune, 1)]);
    await untilMarked(here.audit, 'Deployment', 'web', { value: `${n}` });
    const idle = await written(old.attune);
    await here.setData('ConfigMap', 'app', { value: `${n} again` });
    await untilMarked(here.audit, 'Deployment', 'web', { value: `${n} again` });
    await here.fence.pass();
    expect(await written(old.attune)).toBe(idle);
  }
  expect(rollouts(here)).toBe(2 * turns.length);
});
