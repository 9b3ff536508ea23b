import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { FENCED_INSTANCES } from '../../../src/api/redis-cluster/annotations.ts';
import { until } from '../../support/wait.ts';
import { RedisWorld, type TestCluster } from './redis-world.ts';

const world = await RedisWorld.create('redis-fence');

const isFenced = ({ state }: { state?: string | undefined }) => state === 'Fenced';
const isRunning = ({ state, connected }: { state?: string | undefined; connected?: boolean | undefined }) =>
  state === 'Running' && connected === true;
const untilStopped = (cluster: TestCluster, at = 0) =>
  until(() => cluster.node(at).servers.length === 0, { what: 'redis-server stopped' });

describe.concurrent('a fence', () => {
  it('F2 F4 A11 stops Redis, keeps the agent, and says so once; without it Redis starts again with its data', async () => {
    const cluster = await world.cluster();
    const node = cluster.node(0);
    await cluster.start();
    await node.send('SET', 'colour', 'green');
    await cluster.fence(node.name);
    const fenced = await cluster.until(node.name, isFenced, 'fenced');
    expect(fenced).toMatchObject({ connected: false });
    expect(fenced.role).toBeUndefined();
    await untilStopped(cluster);
    expect(node.lines.join('\n')).toContain('Pod is fenced, stopping redis-server');
    expect((await node.ask('/healthz')).status).toBe(200);
    expect(await node.ask('/readyz')).toEqual({ status: 503, body: 'this pod is fenced' });
    expect((await node.ask('/metrics')).body).toMatch(/redis_fenced\{[^}]*\} 1/);

    await cluster.fence();
    await cluster.until(node.name, isRunning, 'running again');
    expect(await node.send('GET', 'colour')).toBe('green');
    expect(await node.config('min-replicas-to-write')).toBe('0');
    await cluster.untilEvent('InstanceFenced');
    expect((await cluster.reasons()).filter((reason) => reason === 'InstanceFenced')).toHaveLength(1);
  });

  it('is looked at before Redis starts, and survives the agent', async () => {
    const cluster = await world.cluster({ annotations: { [FENCED_INSTANCES]: '["*"]' } });
    const node = cluster.node(0);
    node.start();
    await cluster.until(node.name, isFenced, 'fenced');
    expect(existsSync(node.socket)).toBe(false);
    await node.signal('SIGKILL');
    node.start();
    await node.ask('/healthz').catch(() => undefined);
    await until(async () => (await node.ask('/readyz')).body === 'this pod is fenced', { what: 'fenced again' });
    expect(node.servers).toEqual([]);
    await cluster.fence();
    await cluster.until(node.name, isRunning, 'running');
  });

  it('F5 of another pod is no concern of this one', async () => {
    const cluster = await world.cluster();
    await cluster.start();
    await cluster.fence('another');
    await cluster.spec({ redis: { timeout: '77' } });
    await until(async () => (await cluster.node(0).config('timeout')) === '77', { what: 'the change after the fence' });
    expect(await cluster.reasons()).not.toContain('InstanceFenced');
  });

  it('that cannot be read: what was decided last stays, and is told', async () => {
    const cluster = await world.cluster();
    const node = cluster.node(0);
    await cluster.start();
    await cluster.annotate({ [FENCED_INSTANCES]: node.name });
    expect((await cluster.untilEvent('FenceUnreadable'))['message']).toContain('must be a JSON array');
    expect(node.servers).toHaveLength(1);
    await cluster.fence(node.name);
    await cluster.until(node.name, isFenced, 'fenced');
    await cluster.annotate({ [FENCED_INSTANCES]: '{' });
    await cluster.untilEvent('FenceUnreadable', /stays fenced/);
    expect(node.servers).toEqual([]);
  });

  it('with a data folder that cannot be written: no write is accepted at once, and Redis ends within the deadline', async () => {
    const cluster = await world.cluster({ flags: ['--stop-timeout=6s'] });
    const node = cluster.node(0);
    await cluster.start();
    await node.send('SET', 'colour', 'green');
    // Root may write everywhere, but not over a folder: the final save fails, and Redis refuses to end.
    const dump = join(node.folders.data, 'dump.rdb');
    mkdirSync(join(dump, 'in-the-way'), { recursive: true });
    await cluster.fence(node.name);
    await cluster.until(node.name, isFenced, 'fenced');
    expect(node.servers).toEqual([]);
    expect(node.lines.join('\n')).toContain('Errors trying to shut down the server');
    rmSync(dump, { recursive: true });
    await cluster.fence();
    await cluster.until(node.name, isRunning, 'running again');
    expect(await node.send('GET', 'colour')).toBe('green');
  });

  it('closes writes of a primary with replicas at once, while Redis waits for them', async () => {
    const cluster = await world.cluster({ pods: 2 });
    const [primary, replica] = [cluster.node(0), cluster.node(1)];
    for (const node of cluster.nodes) await node.project({});
    await cluster.spec({ authSecret: { name: 'auth' } });
    for (const node of cluster.nodes) {
      await node.project({ auth: { password: 'p' } });
      node.credentials.unshift({ user: 'default', password: 'p' });
    }
    await cluster.start();
    await cluster.until(primary.name, ({ connectedReplicas }) => connectedReplicas === 1, 'with a replica');
    await cluster.fence(primary.name);
    await cluster.until(primary.name, isFenced, 'fenced');
    await untilStopped(cluster);
    await cluster.status({ currentPrimary: replica.name });
    await cluster.until(replica.name, ({ role }) => role === 'master', 'primary');
    await cluster.fence();
    await cluster.until(
      primary.name,
      ({ role, masterLinkStatus }) => role === 'slave' && masterLinkStatus === 'up',
      'replica',
    );
  });
});
