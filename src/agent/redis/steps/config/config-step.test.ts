import { afterEach, beforeEach, describe, expect, it, test } from 'vitest';
import { ConfigWorld } from '../../../../../test/support/redis-config.ts';

let world: ConfigWorld;
beforeEach(async () => {
  world = await (await ConfigWorld.create()).start();
});
afterEach(() => world[Symbol.asyncDispose]());

const applied = (value: string, message?: string) => ({ state: 'Applied', value, message });
const refused = (message: unknown) => expect.objectContaining({ state: 'Refused', message });

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
