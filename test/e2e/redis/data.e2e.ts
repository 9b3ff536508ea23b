import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { ALLOW_DANGEROUS, EMPTY_PRIMARY } from '../../../src/api/redis-cluster/annotations.ts';
import { startRedis } from '../../support/redis-process.ts';
import { until } from '../../support/wait.ts';
import { infoOf } from './looks.ts';
import type { RedisNode } from './redis-node.ts';
import { RedisWorld } from './redis-world.ts';

const world = await RedisWorld.create('redis-data');

/** A replica is not made to wait for others that might come. */
const atOnce = { 'repl-diskless-sync-delay': '0' };
const isRunning = ({ state }: { state?: string | undefined }) => state === 'Running';
const isLinked = ({ masterLinkStatus }: { masterLinkStatus?: string | undefined }) => masterLinkStatus === 'up';
const isReady = (node: RedisNode) =>
  until(async () => (await node.ask('/readyz')).status === 200, { what: `${node.name} ready` });

describe.concurrent('the start', () => {
  it('of a primary without data, while another pod has some, is refused with the way out; the annotation lets it', async () => {
    const cluster = await world.cluster({ pods: 2, flags: ['--resync=500ms'], spec: { redis: atOnce } });
    const [primary, replica] = [cluster.node(0), cluster.node(1)];
    await cluster.start();
    await primary.send('SET', 'colour', 'green');
    await cluster.until(replica.name, ({ keys }) => keys === 1, 'with the key');
    await primary.kill9();
    for (const name of ['dump.rdb', 'appendonlydir'])
      rmSync(join(primary.folders.data, name), { recursive: true, force: true });
    primary.start();
    const { message, connected } = await cluster.until(primary.name, ({ state }) => state === 'Degraded', 'refused');
    expect(connected).toBe(false);
    expect(message).toContain(`while ${replica.name} has reported 1 keys`);
    expect(message).toContain(`Set status.currentPrimary to ${replica.name}`);
    expect(message).toContain(`${ALLOW_DANGEROUS}: "${EMPTY_PRIMARY}"`);
    await cluster.untilEvent('StartRefused', /would empty its replicas/);
    expect(primary.servers).toEqual([]);
    expect((await primary.ask('/readyz')).status).toBe(503);
    expect(await replica.send('GET', 'colour')).toBe('green');
    await cluster.annotate({ [ALLOW_DANGEROUS]: EMPTY_PRIMARY });
    await cluster.until(primary.name, isRunning, 'running');
    await until(async () => (await replica.send('GET', 'colour')) === null, { what: 'the data is given up' });
  });

  it('after all pods were stopped: a primary without data is refused by what the others held', async () => {
    const cluster = await world.cluster({ pods: 2, spec: { redis: atOnce } });
    const [primary, replica] = [cluster.node(0), cluster.node(1)];
    await cluster.start();
    await cluster.until(replica.name, isLinked, 'linked');
    await primary.send('SET', 'colour', 'green');
    await until(async () => (await replica.send('GET', 'colour')) === 'green', { what: 'the key at the replica' });
    expect(await Promise.all([replica.signal('SIGTERM'), primary.signal('SIGTERM')])).toEqual([0, 0]);
    expect(await cluster.entry(replica.name)).toMatchObject({ state: 'Stopped', connected: false, keys: 1 });
    for (const name of ['dump.rdb', 'appendonlydir'])
      rmSync(join(primary.folders.data, name), { recursive: true, force: true });
    for (const node of cluster.nodes) node.start();
    await cluster.until(primary.name, ({ state }) => state === 'Degraded', 'refused');
    await until(async () => (await replica.send('GET', 'colour')) === 'green', { what: 'the data of the replica' });
    expect(primary.servers).toEqual([]);
  });

  it('in a folder in which Redis has run, but never had a key: it is as empty as one without files', async () => {
    const cluster = await world.cluster({ pods: 2, primary: '' });
    const [first, second] = [cluster.node(0), cluster.node(1)];
    await cluster.start();
    await second.send('SET', 'colour', 'green');
    await Promise.all([first.signal('SIGTERM'), second.signal('SIGTERM')]);
    await cluster.status({ currentPrimary: first.name });
    first.start();
    const { message } = await cluster.until(first.name, ({ state }) => state === 'Degraded', 'refused');
    expect(message).toContain(`while ${second.name} has reported 1 keys`);
  });

  it('on a folder with a dump and no append-only file: the dump is read, and the file begins', async () => {
    const cluster = await world.cluster();
    const node = cluster.node(0);
    await using before = await startRedis({ dir: node.folders.data, directives: [['save', '900 1']] });
    await before.send('SET', 'colour', 'green');
    await before.stop('SIGTERM');
    expect(existsSync(join(node.folders.data, 'dump.rdb'))).toBe(true);
    await cluster.start();
    expect(await node.send('GET', 'colour')).toBe('green');
    await until(async () => (await node.config('appendonly')) === 'yes', { what: 'the append-only file' });
    await until(async () => (await infoOf(node, 'persistence')).get('aof_rewrite_in_progress') === '0', {
      what: 'the data in it',
    });
    await node.kill9();
    node.start();
    await isReady(node);
    expect(await node.send('GET', 'colour')).toBe('green');
  });

  it('that is under way when the agent is told to end leaves no Redis behind', async () => {
    const cluster = await world.cluster();
    const node = cluster.node(0);
    for (let round = 0; round < 5; round += 1) {
      node.start();
      await until(() => node.lines.some((line) => line.includes('serving probes')), { what: 'its begin' });
      node.lines.length = 0;
      await delay(round * 40);
      expect(await node.signal('SIGTERM')).toBe(0);
      expect(node.servers).toEqual([]);
    }
  });
});
