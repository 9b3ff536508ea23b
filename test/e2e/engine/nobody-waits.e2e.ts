import { expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { faultProxy } from '../../support/proxy.ts';
import { api } from '../../support/sandbox.ts';
import { pathOf, podUsing, workload } from '../../support/workloads.ts';
import { AUTO, untilMarked } from '../reloader/moves.ts';
import { DEFAULT, type Scene, scene } from '../reloader/scene.ts';

// More than there are workers.
const MANY = Array.from({ length: 40 }, (_, n) => `stuck-${n}`);
const V1 = { value: '1' };
const V2 = { value: '2' };
const V3 = { value: '3' };
const pod = podUsing({ kind: 'ConfigMap', name: 'app' }, 'envFrom');

/** Somebody else, with a source of its own. */
async function stranger(here: Scene): Promise<void> {
  await here.createSource('ConfigMap', 'app', V1);
  await here.createSource('ConfigMap', 'other', V1);
  await here.createUser('stranger', 'other');
}

const setFinalizers = (here: Scene, name: string, finalizers: readonly string[]) =>
  api().patch(pathOf('Job', here.space, name), { metadata: { finalizers } });

test('Jobs that stay in their finalizers hold nobody up, and are replaced when they go', async () => {
  await using here = await scene(['Job']);
  await stranger(here);
  for (const name of MANY) {
    const job = workload('Job', name, { annotations: AUTO, pod });
    const metadata = { name, annotations: AUTO, finalizers: ['attune.test/never'] };
    await api().create(pathOf('Job', here.space), { ...job, metadata });
  }
  const attune = await here.start([DEFAULT]);
  await here.audit.until('all Jobs', () => here.audit.all('Job').length === MANY.length);
  const old = new Map(here.audit.all('Job').map(({ metadata }) => [metadata.name, metadata.uid]));
  await here.setData('ConfigMap', 'app', V2);
  const isStuck = () => here.audit.all('Job').filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
  await here.audit.until('the first Jobs deleted', () => isStuck().length > 0);
  await here.setData('ConfigMap', 'other', V2);
  await untilMarked(here.audit, 'Deployment', 'stranger', V2);
  await here.audit.until('all Jobs deleted', () => isStuck().length === MANY.length);
  await here.setData('ConfigMap', 'other', V3);
  await untilMarked(here.audit, 'Deployment', 'stranger', V3);
  // Nobody has given up waiting for a Job, and no change counts as delivered before there is a new one.
  expect(attune.lines.filter((line) => /still there|failed/.test(line))).toEqual([]);
  expect(here.audit.all('Job').map(({ metadata }) => metadata.uid)).toEqual([...old.values()]);
  const replaced = () => attune.metric('reloader_action_total', { workload_kind: 'Job', result: 'success' });
  expect((await replaced()) ?? 0).toBe(0);
  for (const name of MANY) await setFinalizers(here, name, []);
  for (const name of MANY) await untilMarked(here.audit, 'Job', name, V2);
  await expect.poll(replaced, { timeout: 20_000 }).toBe(MANY.length);
  for (const name of MANY) {
    expect(here.audit.latest('Job', name)?.metadata.uid).not.toBe(old.get(name));
    await setFinalizers(here, name, []);
  }
});

test('PATCHes that are never answered hold nobody up', async () => {
  const proxy = await faultProxy();
  await using here = await scene();
  await stranger(here);
  for (const name of MANY) await here.createUser(name, 'app');
  const attune = await here.start([DEFAULT], { access: { ...here.stage.access, server: proxy.access.server } });
  proxy.setRules([{ fault: { type: 'silence' }, verbs: ['patch'], path: /\/deployments\/stuck-/ }]);
  await here.setData('ConfigMap', 'app', V2);
  await eventually(() => proxy.faults).toBeGreaterThan(0);
  await here.setData('ConfigMap', 'other', V2);
  await untilMarked(here.audit, 'Deployment', 'stranger', V2);
  await eventually(() => proxy.faults).toBe(MANY.length);
  await here.setData('ConfigMap', 'other', V3);
  await untilMarked(here.audit, 'Deployment', 'stranger', V3);
  // None of them has got an answer, or given up, so far.
  expect(attune.lines.filter((line) => line.includes('failed'))).toEqual([]);
  proxy.setRules([]);
});
