import { afterEach, beforeEach, describe, expect, it, test } from 'vitest';
import { applied, ConfigWorld } from '../../../../../test/support/redis-config.ts';

let world: ConfigWorld;
beforeEach(async () => {
  world = await (await ConfigWorld.create()).start();
});
afterEach(() => world[Symbol.asyncDispose]());

describe('drift', () => {
  it('is put right, and told', async () => {
    await world.apply({ timeout: '30', hz: '1000' });
    await world.redis.send('CONFIG', 'SET', 'timeout', '99');
    const { changed } = await world.apply({ timeout: '30', hz: '1000' });
    expect(changed).toEqual(['timeout']);
    expect(world.writes).toEqual(['CONFIG SET timeout 30']);
    expect(world.events).toEqual(['Normal ConfigReloaded: Pod redis-0: set live: timeout']);
  });

  it('also after the writes of a fenced Redis were closed', async () => {
    await world.apply({ 'min-replicas-to-write': '0' });
    await world.redis.send('CONFIG', 'SET', 'min-replicas-to-write', '1000');
    await world.apply({ 'min-replicas-to-write': '0' });
    expect(await world.get('min-replicas-to-write')).toBe('0');
  });
});

describe('A7: a removed key', () => {
  it('goes back to the value from before the first change', async () => {
    await world.redis.send('CONFIG', 'SET', 'timeout', '7');
    await world.apply({ timeout: '30', hz: '20' });
    await world.apply({ timeout: '40', hz: '20' });
    const { keys, changed } = await world.apply({ hz: '20' });
    expect([keys, changed]).toEqual([{ hz: applied('20') }, ['timeout']]);
    expect(await world.get('timeout')).toBe('7');
    await world.apply({ hz: '20' });
    expect(world.writes).toEqual([]);
  });

  it('also if the agent was killed in between', async () => {
    await world.apply({ 'client-output-buffer-limit': 'replica 128mb 64mb 60', save: '' });
    world.killAgent();
    await world.apply({});
    expect(await world.get('client-output-buffer-limit')).toContain('slave 268435456 67108864 60');
  });

  it('that was never set needs nothing', async () => {
    await world.apply({ maxmemory: '256Mi' });
    expect(await world.apply({})).toEqual({ keys: {}, changed: [] });
    expect(world.writes).toEqual([]);
  });

  it('stays while spec.redis cannot be read', async () => {
    await world.apply({ timeout: '30' });
    await world.apply({}, { problems: [{ where: 'spec.redis.timeout', what: 'must be a string' }] });
    expect(await world.get('timeout')).toBe('30');
  });
});

describe('killed', () => {
  // After each of the commands of a pass, in turn.
  test.each([0, 1, 2, 3, 4])(
    'after %i commands: the next pass converges, and knows the value from before',
    async (count) => {
      await world.redis.send('CONFIG', 'SET', 'timeout', '7');
      let left = count;
      world.beforeSend = () => {
        if (left === 0) throw new Error('killed');
        left -= 1;
      };
      await world.apply({ timeout: '30' }).catch(() => {});
      world.beforeSend = () => {};
      world.killAgent();
      expect((await world.apply({ timeout: '30' })).keys).toEqual({ timeout: applied('30') });
      await world.apply({});
      expect(await world.get('timeout')).toBe('7');
    },
  );

  it('told is told', async () => {
    await world.apply({ hz: 'zzz', databases: '32' });
    expect(world.events).toHaveLength(2);
    world.killAgent();
    await world.apply({ hz: 'zzz', databases: '32' });
    expect(world.events).toEqual([]);
    await world.apply({ hz: 'yyy', databases: '32' });
    expect(world.events).toHaveLength(1);
  });
});
