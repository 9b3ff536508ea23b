import { afterEach, expect, test } from 'vitest';
import { Cluster, type Json } from './cluster.ts';
import { createDeployment, SHOP, startReplica } from './replicas.ts';

type Replica = ReturnType<typeof startReplica>;
const replicas: Replica[] = [];
const start = (...args: Parameters<typeof startReplica>): Replica => {
  const replica = startReplica(...args);
  replicas.push(replica);
  return replica;
};
afterEach(async () => {
  for (const replica of replicas.splice(0)) await replica.end();
});

const setData = (cluster: Cluster, name: string, value: string): Json =>
  cluster.find('configmaps', SHOP, name)
    ? cluster.patch('configmaps', SHOP, name, { data: { value } })
    : cluster.create('configmaps', SHOP, { metadata: { name }, data: { value } });

const variables = (cluster: Cluster): readonly string[] =>
  cluster.find('deployments', SHOP, 'web')?.spec.template.spec.containers[0].env.map(({ name }: Json) => name);

test('a Deployment that is deleted as its pause ends stays deleted, though the answer to our write comes later', async () => {
  const cluster = new Cluster();
  setData(cluster, 'app', 'a');
  createDeployment(cluster, 'web', ['app'], { 'deployment.reloader.stakater.com/pause-period': '10s' });
  const replica = start(cluster, 'one', { elects: false });
  await cluster.clock.run(5000);
  setData(cluster, 'app', 'b');
  await cluster.clock.run(3000);
  expect(cluster.find('deployments', SHOP, 'web')?.spec.paused).toBe(true);
  replica.control.answering = async (call) => {
    if (call !== 'patch deployments/web') return;
    cluster.delete('deployments', SHOP, 'web');
    await new Promise<void>((resolve) => void cluster.clock.after(20, resolve));
  };
  await cluster.clock.run(20_000);
  replica.calls.splice(0);
  setData(cluster, 'app', 'c');
  await cluster.clock.run(900_000);
  expect(replica.calls.filter((call) => call.endsWith('deployments/web'))).toEqual([]);
  expect(replica.gauge('attune_pending_workloads')).toBe(0);
  expect(cluster.find('configmaps', 'home', 'attune-ledger-0')?.data.ledger).not.toContain('Deployment/shop/web');
});

/** Two replicas, of which the first leads. */
async function pair() {
  const cluster = new Cluster();
  setData(cluster, 'app', 'a');
  setData(cluster, 'other', 'a');
  createDeployment(cluster, 'web', ['app', 'other']);
  const first = start(cluster, 'first', { elects: true });
  await cluster.clock.run(5000);
  const second = start(cluster, 'second', { elects: true });
  await cluster.clock.run(5000);
  const change = async (name: string, value: string): Promise<void> => {
    setData(cluster, name, value);
    await cluster.clock.run(5000);
  };
  /** Cuts a leader off until the other one leads. */
  const takeLeadFrom = async ({ control, leadership }: Replica): Promise<void> => {
    control.isCut = true;
    await cluster.clock.run(30_000);
    control.isCut = false;
    await cluster.clock.run(8000);
    expect(leadership.mayWrite()).toBe(false);
  };
  return { cluster, first, second, change, takeLeadFrom };
}

test('who leads again does not take for removed what another leader replaced', async () => {
  const { cluster, first, second, change, takeLeadFrom } = await pair();
  await change('app', 'b');
  await takeLeadFrom(first);
  await change('app', 'c');
  await takeLeadFrom(second);
  cluster.delete('configmaps', SHOP, 'app');
  await cluster.clock.run(5000);
  await change('other', 'b');
  expect(variables(cluster)).toContain('STAKATER_OTHER_CONFIGMAP');
  expect(first.warnings.filter((line) => line.includes('removed the mark'))).toEqual([]);
  expect(first.gauge('attune_reverted_total')).toBe(0);
});

test('what one leader gave up and another delivered is not undelivered when the first leads again', async () => {
  const { cluster, first, second, change, takeLeadFrom } = await pair();
  const strip = async (): Promise<void> => {
    cluster.update('deployments', SHOP, 'web', (object) => {
      const { metadata: _, ...template } = object.spec.template;
      template.spec.containers[0].env = [];
      return { ...object, spec: { ...object.spec, template: { metadata: {}, ...template } } };
    });
    await cluster.clock.run(5000);
  };
  await change('app', 'b');
  await strip();
  await strip();
  expect(first.gauge('attune_undelivered_changes')).toBe(1);
  await takeLeadFrom(first);
  await cluster.clock.run(20_000);
  expect(variables(cluster)).toContain('STAKATER_APP_CONFIGMAP');
  await takeLeadFrom(second);
  expect(first.gauge('attune_undelivered_changes')).toBe(0);
});

test('a change that is due while the lease seems lost, and then is renewed after all, is written', async () => {
  const cluster = new Cluster();
  setData(cluster, 'app', 'a');
  createDeployment(cluster, 'web', ['app']);
  let blockedMs = 0;
  const late = { now: () => cluster.clock.now() + blockedMs, wall: () => cluster.clock.wall() + blockedMs };
  const clock = { ...late, after: (ms: number, run: () => void) => cluster.clock.after(ms, run) };
  const replica = start(cluster, 'one', { elects: true, clock });
  await cluster.clock.run(6100);
  const answer = Promise.withResolvers<void>();
  replica.control.answering = (call) => (call.startsWith('replace leases') ? answer.promise : Promise.resolve());
  await cluster.clock.run(1000);
  setData(cluster, 'app', 'b');
  await cluster.clock.run(950);
  expect(replica.leadership.mayWrite()).toBe(true);
  // The process stood still for so long; its renewal was sent before, and the answer is read after what is due.
  blockedMs = 8000;
  expect(replica.leadership.mayWrite()).toBe(false);
  await cluster.clock.run(100);
  replica.control.answering = async () => {};
  answer.resolve();
  await cluster.clock.run(60_000);
  expect(variables(cluster)).toContain('STAKATER_APP_CONFIGMAP');
});
