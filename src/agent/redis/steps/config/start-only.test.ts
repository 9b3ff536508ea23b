import { afterEach, beforeEach, describe, expect, it, test } from 'vitest';
import { ConfigWorld } from '../../../../../test/support/redis-config.ts';

let world: ConfigWorld;
beforeEach(async () => {
  world = await (await ConfigWorld.create()).start();
});
afterEach(() => world[Symbol.asyncDispose]());

/** Of every kind: immutable, a line, a listening address. */
const START_ONLY = { databases: '32', 'rename-command FLUSHALL': '', bind: '127.0.0.1' };

describe('what counts from a start on', () => {
  it('C2 is proven, waits for the start, and then is applied', async () => {
    const { keys, changed } = await world.apply(START_ONLY);
    expect(keys).toEqual({
      bind: {
        state: 'RestartNeeded',
        value: '* -::*',
        message: 'It counts from the next start on: 127.0.0.1 instead of * -::*',
      },
      databases: { state: 'RestartNeeded', value: '16', message: 'It counts from the next start on: 32 instead of 16' },
      'rename-command FLUSHALL': { state: 'RestartNeeded', message: 'It counts from the next start on' },
    });
    expect(changed).toEqual([]);
    expect(world.events).toHaveLength(3);
    expect(world.events[0]).toMatch(/^Normal RestartNeeded: Pod redis-0: spec.redis.bind needs a restart: /);

    const directives = await world.prepare(START_ONLY);
    expect(directives).toEqual([
      ['bind', '127.0.0.1'],
      ['databases', '32'],
      ['rename-command', 'flushall ""'],
    ]);
    await world.start(directives);
    const { keys: after } = await world.apply({ databases: '32', 'rename-command FLUSHALL': '' });
    expect(after).toMatchObject({
      databases: { state: 'Applied', value: '32' },
      'rename-command FLUSHALL': { state: 'Applied' },
    });
    expect(world.writes).toEqual([]);
  });

  it('is tried once, also by the next agent', async () => {
    await world.apply(START_ONLY);
    const trials = world.trials;
    await world.apply(START_ONLY);
    world.killAgent();
    await world.apply(START_ONLY);
    expect([world.trials, world.writes, world.events]).toEqual([trials, [], []]);
  });

  it('that the server has anyway is applied', async () => {
    expect((await world.apply({ databases: '16' })).keys).toEqual({
      databases: { state: 'Applied', value: '16', message: undefined },
    });
  });

  it('if it is bad, never reaches a start, and the last accepted one stays', async () => {
    await world.apply({ 'io-threads': '2' });
    await world.apply({ 'io-threads': 'abc' });
    expect(await world.prepare({ 'io-threads': 'abc' })).toEqual([['io-threads', '2']]);
  });

  it('A7: removed, it is told until the next start', async () => {
    const spec = { databases: '32', 'rename-command FLUSHALL': 'hidden' };
    await world.start(await world.prepare(spec));
    expect((await world.apply(spec)).keys).toMatchObject({
      databases: { state: 'Applied' },
      'rename-command FLUSHALL': { state: 'Applied' },
    });
    const removed = { state: 'RestartNeeded', message: 'It was removed, which counts from the next start on' };
    for (const events of [2, 0]) {
      const { keys } = await world.apply({});
      expect(keys).toEqual({ databases: { ...removed, value: '32' }, 'rename-command FLUSHALL': removed });
      expect(world.events).toHaveLength(events);
      world.killAgent();
    }
    expect(await world.prepare({})).toEqual([]);
    await world.start();
    expect(await world.apply({})).toEqual({ keys: {}, changed: [] });
    await world.apply({});
    expect(world.sent).toEqual([]);
  });

  it('removed before a start, it was never there', async () => {
    await world.apply({ databases: '32' });
    expect((await world.apply({})).keys).toEqual({});
    expect(await world.prepare({})).toEqual([]);
  });
});

describe('a sidecar', () => {
  beforeEach(async () => {
    await world[Symbol.asyncDispose]();
    world = await (await ConfigWorld.create('sidecar')).start([['rename-command', 'KEYS ""']]);
    world.tryServer = () => Promise.reject(new Error('a sidecar has no redis-server'));
  });

  it('names what belongs into the configuration of the container, and proves nothing', async () => {
    const waits = expect.objectContaining({
      state: 'RestartNeeded',
      message: expect.stringContaining('in the configuration of the Redis container'),
    });
    const spec = {
      databases: '32',
      bind: '127.0.0.1',
      'io-threads': '1',
      'rename-command KEYS': '',
      'rename-command FLUSHALL': '',
      maxmemroy: '1',
      timeout: '9',
    };
    const { keys } = await world.apply(spec);
    expect(keys).toEqual({
      databases: waits,
      bind: waits,
      'io-threads': expect.objectContaining({ state: 'Applied', value: '1' }),
      'rename-command KEYS': expect.objectContaining({ state: 'Applied' }),
      'rename-command FLUSHALL': waits,
      maxmemroy: { state: 'Refused', message: "Unknown option or number of arguments for CONFIG SET - 'maxmemroy'" },
      timeout: expect.objectContaining({ state: 'Applied' }),
    });
    await world.apply(spec);
    expect([world.writes, world.events]).toEqual([[], []]);
  });

  it('sets all again after Redis was started anew, and knows the value from before', async () => {
    await world.apply({ timeout: '9', 'min-replicas-to-write': '0', maxmemory: '1gb' });
    await world.start([['timeout', '3']]);
    const { changed } = await world.apply({ timeout: '9', 'min-replicas-to-write': '0', maxmemory: '1gb' });
    expect(changed).toEqual(['maxmemory', 'timeout']);
    await world.apply({});
    expect([await world.get('timeout'), await world.get('maxmemory')]).toEqual(['0', '0']);
  });
});

describe('another server', () => {
  it('is asked again what the one before has refused', async () => {
    await world.apply({ hz: 'zzz' });
    await world.start();
    await world.apply({ hz: 'zzz' });
    expect([world.writes, world.events]).toEqual([['CONFIG SET hz zzz'], []]);
  });

  it('gets again what was accepted, though its replicas are not yet there', async () => {
    const spec = { 'min-replicas-to-write': '1' };
    await world.apply(spec, { allowDangerous: new Set(['min-replicas-to-write']) });
    await world.start();
    expect((await world.apply(spec)).changed).toEqual(['min-replicas-to-write']);
  });
});

// Which parameters can be set live, by what Redis itself says.
describe('every parameter set to its own value', () => {
  test("counts as applied, or is the agent's own", async () => {
    const all = (await world.redis.send('CONFIG', 'GET', '*')) as readonly string[];
    const spec = Object.fromEntries(all.flatMap((key, at) => (at % 2 === 0 ? [[key, all[at + 1] ?? '']] : [])));
    const older = Object.keys(spec).filter((key) => /slave|ziplist|lua-time-limit/.test(key));
    for (const key of older) delete spec[key];
    const { keys, changed } = await world.apply(spec);
    expect(changed).toEqual([]);
    expect(world.writes).toEqual([]);
    const states = (state: string) => Object.keys(keys).filter((key) => keys[key]?.state === state);
    expect(states('RestartNeeded')).toEqual([]);
    for (const key of states('Refused'))
      expect([key, keys[key]?.message]).toEqual([key, expect.stringContaining('not for spec.redis')]);
    expect(states('Applied').length).toBeGreaterThan(120);
  });
});
