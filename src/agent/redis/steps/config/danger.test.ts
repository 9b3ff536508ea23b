import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ConfigWorld } from '../../../../../test/support/redis-config.ts';
import { loopbackAddress, startRedis } from '../../../../../test/support/redis-process.ts';
import { until } from '../../../../../test/support/wait.ts';

let world: ConfigWorld;
beforeEach(async () => {
  world = await (await ConfigWorld.create()).start();
});
afterEach(() => world[Symbol.asyncDispose]());

const allow = (...keys: readonly string[]) => ({ allowDangerous: new Set(keys) });

/** Some megabytes of data. */
const fill = () => world.redis.send('EVAL', "for i=1,5000 do redis.call('SET', i, string.rep('x', 1000)) end", '0');

describe('live does not mean harmless', () => {
  it('maxmemory below what is used is refused with numbers, until somebody allows it', async () => {
    await fill();
    const { keys } = await world.apply({ maxmemory: '1mb' });
    expect(keys['maxmemory']).toMatchObject({ state: 'Refused', value: '0' });
    expect(keys['maxmemory']?.message).toMatch(
      /^Redis uses \d{7} bytes, the new limit would be 1048576: data would be evicted at once, or writes fail where the policy is noeviction\. If that is meant, add maxmemory to the annotation attune\.dev\/allow-dangerous$/,
    );
    expect(await world.get('maxmemory')).toBe('0');
    await world.redis.send('SET', 'more', 'x'.repeat(100_000));
    expect((await world.apply({ maxmemory: '1mb' })).keys, 'the status does not follow every byte').toEqual(keys);
    expect(world.events).toEqual([]);
    expect((await world.apply({ maxmemory: '1mb' }, allow('maxmemory'))).keys['maxmemory']?.state).toBe('Applied');
  });

  it('data is not evicted: neither by the limit nor by the policy nor by both at once', async () => {
    await fill();
    const both = { maxmemory: '1mb', 'maxmemory-policy': 'allkeys-lru' };
    const { keys } = await world.apply(both);
    expect([keys['maxmemory']?.state, keys['maxmemory-policy']?.state]).toEqual(['Refused', 'Applied']);
    expect(keys['maxmemory']?.message).toContain('would be evicted');
    expect((await world.apply(both)).keys['maxmemory']?.state).toBe('Refused');
    expect(await world.redis.send('DBSIZE')).toBe(5000);

    await world.apply({});
    const { keys: half } = await world.apply(both, allow('maxmemory'));
    expect([half['maxmemory']?.state, half['maxmemory-policy']?.state]).toEqual(['Applied', 'Refused']);
    expect(half['maxmemory-policy']?.message).toMatch(
      /its limit is 1048576: data would be evicted at once \(allkeys-lru\)/,
    );
    expect(await world.redis.send('DBSIZE')).toBe(5000);
    await world.apply(both, allow('maxmemory', 'maxmemory-policy'));
    await until(async () => Number(await world.redis.send('DBSIZE')) < 5000, { what: 'data is evicted' });
  });

  it('not by putting right what somebody has changed either', async () => {
    await world.apply({ maxmemory: '2mb', 'maxmemory-policy': 'allkeys-lru' });
    await world.redis.send('CONFIG', 'SET', 'maxmemory', '0');
    await fill();
    expect((await world.apply({ maxmemory: '2mb', 'maxmemory-policy': 'allkeys-lru' })).keys['maxmemory']?.state).toBe(
      'Refused',
    );
    expect(await world.redis.send('DBSIZE')).toBe(5000);
  });

  it('maxclients that would lock us out', async () => {
    const { keys } = await world.apply({ maxclients: '1' });
    expect(keys['maxclients']).toMatchObject({ state: 'Refused', message: expect.stringContaining('locked out') });
    expect((await world.apply({ maxclients: '64' })).keys['maxclients']?.state).toBe('Applied');
  });

  it('min-replicas-to-write above the replicas that are there closes writes', async () => {
    const host = loopbackAddress();
    await using primary = await startRedis({ host, directives: [['repl-diskless-sync-delay', '0']] });
    await using replica = await startRedis({ directives: [['replicaof', `${host} 6379`]] });
    await until(async () => String(await primary.send('INFO', 'replication')).includes('state=online'), {
      what: 'the replica is there',
    });
    const spec = (count: number) => ({ 'min-replicas-to-write': String(count) });
    const stateOn = async (redis: typeof primary, count: number) => {
      await using own = await ConfigWorld.create();
      own.use(redis);
      return (await own.apply(spec(count))).keys['min-replicas-to-write'];
    };
    expect(await stateOn(primary, 2)).toMatchObject({
      state: 'Refused',
      message: expect.stringContaining('1 replicas are in step, 2 would be needed'),
    });
    expect(await stateOn(primary, 1)).toMatchObject({ state: 'Applied' });
    expect(await stateOn(replica, 2)).toMatchObject({ state: 'Applied' });
  });

  it('a command that the agent needs cannot be renamed, also not at a start', async () => {
    const spec = { 'rename-command CONFIG': 'x' };
    const { keys } = await world.apply(spec);
    expect(keys['rename-command CONFIG']).toMatchObject({
      state: 'Refused',
      message: expect.stringContaining('need CONFIG'),
    });
    expect(await world.prepare(spec)).toEqual([]);
    expect((await world.apply(spec, allow('rename-command'))).keys['rename-command CONFIG']?.state).toBe(
      'RestartNeeded',
    );
    expect(await world.prepare(spec, allow('rename-command config'))).toEqual([['rename-command', 'config x']]);
  });

  it('fewer databases than hold keys: Redis would not start with its data', async () => {
    await world.redis.send('EVAL', "redis.call('SELECT', 9) redis.call('SET', 'a', 1)", '0');
    expect((await world.apply({ databases: '4' })).keys['databases']).toMatchObject({
      state: 'Refused',
      message: expect.stringContaining('Database 9 holds keys'),
    });
    expect((await world.apply({ databases: '10' })).keys['databases']?.state).toBe('RestartNeeded');
  });

  it('a restart is no way around: with data the pass after the start decides', async () => {
    await world.apply({ maxmemory: '100mb' });
    await world.file('data/dump.rdb', '');
    const judged = { maxmemory: '1mb', 'maxmemory-policy': 'allkeys-lru', timeout: '5' };
    expect(await world.prepare(judged)).toEqual([
      ['maxmemory', '100mb'],
      ['timeout', '5'],
    ]);
    expect(await world.prepare(judged, allow('maxmemory'))).toContainEqual(['maxmemory', '1mb']);
  });

  it('while Redis loads its data nothing is decided by how much it has', async () => {
    await fill();
    const { dir } = world.redis;
    await world.redis.send('SAVE');
    await using other = await ConfigWorld.create();
    await other.file('data/x', '');
    await copyFile(join(dir, 'dump.rdb'), join(other.folder, 'data/dump.rdb'));
    const slow = [
      ['key-load-delay', '1000'],
      ['loading-process-events-interval-bytes', '1024'],
    ] as const;
    await using loading = await startRedis({ dir: join(other.folder, 'data'), directives: slow });
    other.use(loading);
    const spec = { maxmemory: '1mb', timeout: '9' };
    const { keys } = await other.apply(spec);
    expect(keys['maxmemory']).toMatchObject({ state: 'Refused', message: expect.stringContaining('still loads') });
    expect(keys['timeout']?.state).toBe('Applied');
    expect(other.events).toEqual(['Normal ConfigReloaded: Pod redis-0: set live: timeout']);
    await loading.send('CONFIG', 'SET', 'key-load-delay', '0');
    await until(async () => (await loading.send('DBSIZE')) === 5000, { what: 'Redis has loaded' });
    expect((await other.apply(spec)).keys['maxmemory']?.message).toContain('would be evicted');
    expect(other.events).toEqual([expect.stringContaining('Warning ConfigRefused')]);
  });
});
