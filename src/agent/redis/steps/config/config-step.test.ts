import { afterEach, beforeEach, describe, expect, it, test } from 'vitest';
import { applied, ConfigWorld, refused } from '../../../../../test/support/redis-config.ts';

let world: ConfigWorld;
beforeEach(async () => {
  world = await (await ConfigWorld.create()).start();
});
afterEach(() => world[Symbol.asyncDispose]());

describe('what is set live', () => {
  it('C1 C3 C5: every key of spec.redis, in one command', async () => {
    const spec = {
      maxmemory: '256mb',
      'maxmemory-policy': 'allkeys-lru',
      'tcp-keepalive': '60',
      timeout: '30',
      save: '100 1',
    };
    const { keys, changed } = await world.apply(spec);
    expect(keys).toEqual({
      maxmemory: applied('268435456'),
      'maxmemory-policy': applied('allkeys-lru'),
      'tcp-keepalive': applied('60'),
      timeout: applied('30'),
      save: applied('100 1'),
    });
    expect(world.writes).toEqual([
      'CONFIG SET maxmemory 256mb maxmemory-policy allkeys-lru save 100 1 tcp-keepalive 60 timeout 30',
    ]);
    expect(changed).toEqual(['maxmemory', 'maxmemory-policy', 'save', 'tcp-keepalive', 'timeout']);
    expect(await world.get('save')).toBe('100 1');
  });

  it('C4 A6: one event, without values, only when a value has changed', async () => {
    await world.apply({ timeout: '30', hz: '10' });
    expect(world.events).toEqual(['Normal ConfigReloaded: Pod redis-0: set live: timeout']);
    await world.apply({ timeout: '30', hz: '10' });
    expect([world.events, world.writes]).toEqual([[], []]);
    await world.apply({ timeout: '30', hz: '10', 'tcp-keepalive': '300' });
    expect([world.events, world.writes]).toEqual([[], []]);
  });

  it('nothing at all is asked where nothing is wanted', async () => {
    expect(await world.apply({})).toEqual({ keys: {}, changed: [] });
    expect(world.sent).toEqual([]);
  });

  it('no write in a hundred passes over the same', async () => {
    const spec = { timeout: '30', maxmemory: '256Mi', databases: '32', maxmemroy: '1', 'rename-command FLUSHALL': '' };
    const first = await world.apply(spec);
    const trials = world.trials;
    for (let pass = 0; pass < 100; pass += 1) {
      const { keys } = await world.apply(spec);
      if (pass === 99) expect(keys).toEqual(first.keys);
      expect([world.events, world.writes]).toEqual([[], []]);
    }
    expect(world.trials).toBe(trials);
  });

  // What Redis makes of a text.
  test.each([
    ['maxmemory', '1gb', '1073741824', undefined],
    ['notify-keyspace-events', 'KEA', 'AKE', undefined],
    ['appendfsync', 'EVERYSEC', 'everysec', undefined],
    ['hz', '1000', '500', 'Redis made 500 of 1000'],
    [
      'client-output-buffer-limit',
      'replica 128mb 64mb 60',
      'normal 0 0 0 slave 134217728 67108864 60 pubsub 33554432 8388608 60',
      undefined,
    ],
    ['save', '', '', undefined],
    ['MaxMemory', '5mb', '5242880', undefined],
    ['min-slaves-max-lag', '7', '7', undefined],
  ])('%s %s reads back as %s, which is no drift', async (key, text, value, message) => {
    expect((await world.apply({ [key]: text })).keys).toEqual({ [key]: applied(value, message) });
    await world.apply({ [key]: text });
    expect(world.writes).toEqual([]);
  });
});

describe('spec.memory', () => {
  it('sets the limit and the policy', async () => {
    const { keys } = await world.apply({}, { memory: { bytes: 268_435_456, policy: 'volatile-ttl' } });
    expect(keys).toEqual({ maxmemory: applied('268435456'), 'maxmemory-policy': applied('volatile-ttl') });
  });

  it('wins over spec.redis, which is told', async () => {
    const { keys } = await world.apply(
      { MAXMEMORY: '1gb', maxmemory: '2gb' },
      { memory: { bytes: 1_000_000_000, policy: undefined } },
    );
    expect(keys).toEqual({
      MAXMEMORY: refused('spec.memory sets it: remove it here'),
      maxmemory: { state: 'Refused', value: '1000000000', message: 'spec.memory sets it: remove it here' },
    });
    expect(await world.get('maxmemory')).toBe('1000000000');
  });

  it('that cannot be read changes nothing', async () => {
    await world.apply({}, { memory: { bytes: 268_435_456, policy: undefined } });
    await world.apply({}, { problems: [{ where: 'spec.memory.maxMemory', what: 'must be an amount' }] });
    expect(await world.get('maxmemory')).toBe('268435456');
    await world.apply({}, {});
    expect(await world.get('maxmemory')).toBe('0');
  });
});
