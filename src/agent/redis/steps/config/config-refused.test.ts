import { afterEach, beforeEach, describe, expect, it, test } from 'vitest';
import { applied, ConfigWorld, refused } from '../../../../../test/support/redis-config.ts';

let world: ConfigWorld;
beforeEach(async () => {
  world = await (await ConfigWorld.create()).start();
});
afterEach(() => world[Symbol.asyncDispose]());

describe('A5: one bad key', () => {
  it('does not keep the others from being set, and is told with the words of Redis', async () => {
    const { keys, changed } = await world.apply({ hz: 'zzz', maxmemory: '300mb', timeout: '5' });
    expect(keys).toEqual({
      hz: refused("argument couldn't be parsed into an integer"),
      maxmemory: applied('314572800'),
      timeout: applied('5'),
    });
    expect(changed).toEqual(['maxmemory', 'timeout']);
    expect(world.events).toContain(
      "Warning ConfigRefused: Pod redis-0: spec.redis.hz is refused: argument couldn't be parsed into an integer",
    );
  });

  test.each([
    ['maxmemory', '256Mi', 'argument must be a memory value (Redis writes 256mb)'],
    ['maxmemory', '50%', 'argument must be a memory value'],
    ['maxmemory', '1 gb', 'argument must be a memory value'],
    ['maxmemory', '"256mb"', 'argument must be a memory value (the quotes are part of the value: leave them out)'],
    ['save', '""', 'Invalid save parameters (without the quotes it is the empty text)'],
    ['appendonly', 'maybe', "argument must be 'yes' or 'no'"],
    ['maxmemory-policy', 'lru', expect.stringMatching(/^argument\(s\) must be one of the following: volatile-lru/)],
    ['timeout', '99999999999999999999', "argument couldn't be parsed into an integer"],
    ['io-threads', 'abc', "argument couldn't be parsed into an integer"],
    ['databases', '0', 'argument must be between 1 and 2147483647 inclusive'],
    ['maxmemroy', '1', 'Bad directive or wrong number of arguments'],
    ['constructor', '1', 'Bad directive or wrong number of arguments'],
    ['rename-command NOPE', '', 'No such command in rename-command'],
    ['bind', '203.0.113.9', expect.stringContaining('cannot listen on these addresses')],
    ['loadmodule /nowhere.so', '', expect.stringContaining("Can't load module from /nowhere.so")],
    ['timeout', 'a\0b', 'the value has a NUL byte: remove it'],
    ['timeout', '5\nrequirepass x', expect.stringContaining('line break')],
    [
      'proc-title-template',
      'x'.repeat(1_048_576),
      'the value has 1048576 characters, at most 8192 are taken: shorten it',
    ],
  ])('%s %j is refused', async (key, text, message) => {
    const { keys, changed } = await world.apply({ [key]: text });
    expect(keys).toEqual({ [key]: refused(message) });
    expect(changed).toEqual([]);
    expect(world.events).toEqual([
      expect.stringContaining(`Warning ConfigRefused: Pod redis-0: spec.redis.${key} is `),
    ]);
    await world.apply({ [key]: text });
    expect([world.writes, world.events]).toEqual([[], []]);
    expect(await world.prepare({ [key]: text })).toEqual([]);
  });

  it('an odd key is refused, and the rest is set', async () => {
    const odd = new Map([
      ['', 'x'],
      ['__proto__', 'x'],
      ['max*', '1'],
      ['save 900', '1'],
      ['a\nb', '1'],
      ['k'.repeat(1_000_000), '1'],
      ['timeout', '9'],
    ]);
    const { keys } = await world.apply(odd);
    expect(Object.entries(keys).map(([key, { state }]) => [key.slice(0, 10), state])).toEqual([
      ['(empty)', 'Refused'],
      ['__proto__', 'Refused'],
      ['a …', 'Refused'],
      ['kkkkkkkkkk', 'Refused'],
      ['max*', 'Refused'],
      ['save …', 'Refused'],
      ['timeout', 'Applied'],
    ]);
  });

  it('two spellings, or two names, of one parameter are both refused', async () => {
    const { keys } = await world.apply({
      TIMEOUT: '1',
      timeout: '2',
      'min-slaves-max-lag': '3',
      'min-replicas-max-lag': '4',
    });
    expect(Object.values(keys).map(({ state }) => state)).toEqual(Array(4).fill('Refused'));
    expect(keys['timeout']?.message).toBe('it is there twice, also as TIMEOUT: keep one of them');
    expect(world.writes).toEqual([]);
  });

  it('a value that the machine refuses is tried again later', async () => {
    const spec = { maxclients: '10000000' };
    expect((await world.apply(spec)).keys).toEqual({
      maxclients: refused(expect.stringContaining('not able to handle')),
    });
    await world.apply(spec);
    expect(world.writes).toEqual([]);
    world.clock.advance(60_000);
    await world.apply(spec);
    expect(world.writes).toEqual(['CONFIG SET maxclients 10000000']);
    expect(world.events).toEqual([]);
  });

  it('the last accepted value stays, also if somebody changes it', async () => {
    await world.apply({ maxmemory: '100mb' });
    await world.apply({ maxmemory: '256Mi' });
    expect(await world.get('maxmemory')).toBe('104857600');
    await world.redis.send('CONFIG', 'SET', 'maxmemory', '200mb');
    expect((await world.apply({ maxmemory: '256Mi' })).keys).toEqual({
      maxmemory: { ...applied('104857600'), state: 'Refused', message: expect.stringContaining('memory value') },
    });
    expect(await world.prepare({ maxmemory: '256Mi' })).toEqual([['maxmemory', '100mb']]);
  });
});

describe('keys of the agent', () => {
  test.each([
    ['port', '6380', 'Services'],
    ['requirepass', 'hunter2', 'spec.authSecret'],
    ['MasterAuth', 'hunter2', 'spec.authSecret'],
    ['slaveof', 'h 1', 'spec.replicaMode'],
    ['user', 'bob on >hunter2', 'spec.aclConfigSecret'],
    ['dir', '/x', '--data-dir'],
    ['tls-client-key-file-pass', 'hunter2', 'spec.tlsSecret'],
    ['cluster-announce-ip', '1.2.3.4', 'address'],
    ['cluster-enabled', 'yes', 'spec.mode'],
    ['logfile', '/x', 'kubectl logs'],
  ])('C2 %s is refused, and says what governs it', async (key, text, governs) => {
    const { keys } = await world.apply({ [key]: text });
    expect(keys).toEqual({ [key]: refused(expect.stringContaining(governs)) });
    expect(JSON.stringify([keys, world.events, world.sent])).not.toContain('hunter2');
    expect(world.writes).toEqual([]);
  });

  it('a password in a key is not shown', async () => {
    const { keys } = await world.apply({
      'requirepass hunter2': '',
      'user bob >hunter2': 'on',
      'requirepas hunter2': '',
    });
    expect(Object.keys(keys)).toEqual(['requirepas …', 'requirepass …', 'user …']);
    expect(JSON.stringify([keys, world.events])).not.toContain('hunter2');
  });
});
