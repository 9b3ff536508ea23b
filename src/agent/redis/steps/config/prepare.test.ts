import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ConfigWorld } from '../../../../../test/support/redis-config.ts';

let world: ConfigWorld;
beforeEach(async () => {
  world = await ConfigWorld.create();
});
afterEach(() => world[Symbol.asyncDispose]());

const MIXED = {
  maxmemory: '256Mi',
  hz: '1000',
  save: '900 1 300 10',
  'io-threads': 'abc',
  databases: '32',
  maxmemroy: '1',
  'rename-command FLUSHALL': '',
  'client-output-buffer-limit': 'replica 128mb 64mb 60',
  requirepass: 'hunter2',
};

describe('the first start', () => {
  it('has what is good, and the pass after it tells what is bad', async () => {
    const directives = await world.prepare(MIXED, { memory: { bytes: undefined, policy: 'volatile-lru' } });
    expect(directives).toEqual([
      ['client-output-buffer-limit', 'replica 128mb 64mb 60'],
      ['databases', '32'],
      ['hz', '1000'],
      ['maxmemory-policy', 'volatile-lru'],
      ['rename-command', 'flushall ""'],
      ['save', '900 1 300 10'],
    ]);
    expect(world.events).toEqual([]);
    await world.start(directives);
    const { keys, changed } = await world.apply(MIXED, { memory: { bytes: undefined, policy: 'volatile-lru' } });
    expect(changed).toEqual([]);
    expect(Object.entries(keys).map(([key, { state }]) => `${key} ${state}`)).toEqual([
      'client-output-buffer-limit Applied',
      'databases Applied',
      'hz Applied',
      'io-threads Refused',
      'maxmemory Refused',
      'maxmemory-policy Applied',
      'maxmemroy Refused',
      'rename-command FLUSHALL Applied',
      'requirepass Refused',
      'save Applied',
    ]);
    expect(keys['hz']).toEqual({ state: 'Applied', value: '500', message: 'Redis made 500 of 1000' });
  });

  it('A7: a key removed later goes back to what the start file has without it', async () => {
    const spec = { save: '', appendonly: 'no', hz: '50', 'tcp-keepalive': '9' };
    await world.start(await world.prepare(spec));
    await world.apply(spec);
    await world.apply({});
    expect([await world.get('save'), await world.get('appendonly'), await world.get('hz')]).toEqual([
      '900 1 300 10 60 10000',
      'yes',
      '10',
    ]);
  });

  it('has nothing that Redis would take at a start, but not live', async () => {
    expect(await world.prepare({ maxclients: '10000000' })).toEqual([]);
  });

  it('has nothing where nothing is wanted, and tries nothing', async () => {
    expect(await world.prepare({})).toEqual([]);
    expect(world.trials).toBe(0);
  });
});

describe('a later start', () => {
  it('has what was accepted live', async () => {
    await world.start();
    await world.apply({ timeout: '30', maxmemory: '1gb' });
    world.killAgent();
    expect(await world.prepare({ timeout: '30', maxmemory: '1gb' })).toEqual([
      ['maxmemory', '1gb'],
      ['timeout', '30'],
    ]);
  });

  it('has what has changed meanwhile, if it is good', async () => {
    await world.start();
    await world.apply({ timeout: '30', hz: '20' });
    expect(await world.prepare({ timeout: '40', hz: 'zzz', 'tcp-backlog': '64' })).toEqual([
      ['hz', '20'],
      ['tcp-backlog', '64'],
      ['timeout', '40'],
    ]);
    expect(await world.prepare({ timeout: '40' })).toEqual([['timeout', '40']]);
  });

  it('works from what was accepted where no throw-away server can be had', async () => {
    await world.start();
    await world.apply({ timeout: '30', databases: '32' });
    world.tryServer = () => Promise.reject(new Error('no space left'));
    world.trials = 0;
    expect(await world.prepare({ timeout: '50', databases: '32', hz: '20' })).toEqual([
      ['databases', '32'],
      ['timeout', '30'],
    ]);
    expect(world.trials, 'each may take seconds').toBe(1);
  });

  it('A7: keeps in mind what was there before the first change', async () => {
    await world.start();
    await world.redis.send('CONFIG', 'SET', 'timeout', '7');
    await world.apply({ timeout: '30' });
    await world.start(await world.prepare({ timeout: '40' }));
    expect(await world.get('timeout')).toBe('40');
    await world.apply({});
    expect(await world.get('timeout')).toBe('7');
  });

  it('leaves out what another program does not take any more', async () => {
    await world.start();
    await world.apply({ timeout: '30', hz: '20', 'tcp-keepalive': '9' });
    const { tryServer } = world;
    world.tryServer = (trial, ask) =>
      tryServer({ directives: trial.directives.map(([key, value]) => [key === 'hz' ? 'hzz' : key, value]) }, ask);
    expect(await world.prepare({ timeout: '30', hz: '20', 'tcp-keepalive': '9' })).toEqual([
      ['tcp-keepalive', '9'],
      ['timeout', '30'],
    ]);
  });
});

describe('what is kept', () => {
  it('only this user may read, and holds no refused password', async () => {
    await world.start();
    await world.apply({ timeout: '30', requirepass: 'hunter2' });
    const file = join(world.folder, 'state/config.json');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readFile(file, 'utf8')).not.toContain('hunter2');
  });

  it('has nothing of what was only tried', async () => {
    await world.start();
    await world.apply({ hz: 'zzz', maxmemroy: '1' });
    expect(JSON.parse(await readFile(join(world.folder, 'state/config.json'), 'utf8'))).toMatchObject({
      live: [],
      start: [],
    });
  });

  it('of a parameter that has become one for starts is not set live again', async () => {
    await world.file('state/config.json', '{"live":[["databases",{"before":"16","text":"8","canonical":"8"}]]}');
    world.killAgent();
    await world.start();
    expect((await world.apply({ databases: '32' })).keys['databases']?.state).toBe('RestartNeeded');
    await world.apply({ databases: '32' });
    expect(world.writes).toEqual([]);
  });

  it('cannot be kept: then nothing is set, for nobody would know what was before', async () => {
    await world.start();
    await world.file('state', 'no folder');
    await expect(world.apply({ timeout: '30' })).rejects.toThrow(/ENOTDIR|EEXIST/);
    expect(await world.get('timeout')).toBe('0');
    await rm(join(world.folder, 'state'));
    expect((await world.apply({ timeout: '30' })).keys['timeout']?.state).toBe('Applied');
  });

  it('counts as nothing if it is damaged', async () => {
    await world.start();
    await world.apply({ timeout: '30' });
    for (const text of ['{', 'null', '{"live":5}', '[]', '{"live":[["timeout"]],"start":[7]}']) {
      await writeFile(join(world.folder, 'state/config.json'), text);
      world.killAgent();
      expect((await world.apply({ timeout: '30' })).keys['timeout']?.state).toBe('Applied');
    }
  });
});
