import { describe, expect, it, test } from 'vitest';
import { amountOf, cureFor, cutBy } from './amount.ts';
import { after, dangerAtStart, dangerOf, isAllowed, type ServerFacts, UNDECIDED } from './danger.ts';
import { isForStart, isLasting, reasonOf, shortened, startReasonOf } from './refusal.ts';

const MB = 1024 ** 2;
const server: ServerFacts = {
  isLoading: false,
  usedMemory: 100 * MB,
  maxmemory: 0,
  policy: 'noeviction',
  clients: 50,
  maxclients: 10_000,
  isPrimary: true,
  goodReplicas: 1,
  minReplicas: 0,
  databases: 16,
  lastDatabase: 3,
};

describe('what does harm', () => {
  test.each<[string, string, Partial<ServerFacts>, boolean]>([
    ['maxmemory', '99mb', {}, true],
    ['maxmemory', '100mb', {}, false],
    ['maxmemory', '0', {}, false],
    ['maxmemory', '256Mi', {}, false],
    ['maxmemory', '90mb', { maxmemory: 80 * MB }, false],
    ['maxmemory', '70mb', { maxmemory: 80 * MB }, true],
    ['maxmemory-policy', 'allkeys-lru', { maxmemory: 99 * MB }, true],
    ['maxmemory-policy', 'ALLKEYS-LRU', { maxmemory: 99 * MB, policy: 'allkeys-lru' }, false],
    ['maxmemory-policy', 'allkeys-lru', { maxmemory: 99 * MB, policy: 'volatile-ttl' }, true],
    ['maxmemory-policy', 'allkeys-lru', {}, false],
    ['maxmemory-policy', 'noeviction', { maxmemory: 99 * MB, policy: 'allkeys-lru' }, false],
    ['maxclients', '81', {}, true],
    ['maxclients', '82', {}, false],
    ['maxclients', '63', { clients: 1 }, true],
    ['maxclients', '70', { maxclients: 64 }, false],
    ['min-replicas-to-write', '2', {}, true],
    ['min-replicas-to-write', '1', {}, false],
    ['min-replicas-to-write', '2', { isPrimary: false }, false],
    ['min-replicas-to-write', '2', { minReplicas: 1000 }, false],
    ['databases', '3', {}, true],
    ['databases', '4', {}, false],
    ['timeout', '1', {}, false],
  ])('%s %s, where %j: %s', (name, text, own, isHarm) => {
    const danger = dangerOf({ name, text }, { ...server, ...own });
    if (isHarm) expect(danger).toContain(`add ${name} to the annotation attune.dev/allow-dangerous`);
    else expect(danger).toBeUndefined();
  });

  test.each<[string, string, Partial<ServerFacts>, string | undefined]>([
    ['maxmemory', '1gb', {}, UNDECIDED],
    ['maxmemory', '1gb', { maxmemory: MB }, undefined],
    ['maxmemory-policy', 'allkeys-lru', { maxmemory: MB }, UNDECIDED],
    ['maxmemory-policy', 'noeviction', { maxmemory: MB }, undefined],
    ['databases', '15', {}, UNDECIDED],
    ['databases', '17', {}, undefined],
  ])('while data is loaded: %s %s, where %j', (name, text, own, danger) => {
    expect(dangerOf({ name, text }, { ...server, ...own, isLoading: true, usedMemory: 0, lastDatabase: -1 })).toBe(
      danger,
    );
  });

  it('the policy is judged by the limit that comes with it', () => {
    const lower = after({ name: 'maxmemory', text: '1mb' }, server);
    expect(dangerOf({ name: 'maxmemory-policy', text: 'allkeys-lru' }, lower)).toContain('its limit is 1048576');
  });

  it('at every start', () => {
    const rename = (command: string) =>
      dangerAtStart({
        name: `rename-command ${command}`,
        text: '',
        line: { directive: 'rename-command', command, to: '' },
      });
    for (const command of 'config info replicaof acl auth client ping shutdown dbsize command'.split(' '))
      expect(rename(command)).toContain(command.toUpperCase());
    expect(rename('flushall')).toBeUndefined();
    expect(dangerAtStart({ name: 'maxclients', text: '63' })).toContain('64');
    expect(dangerAtStart({ name: 'maxclients', text: '64' })).toBeUndefined();
    expect(dangerAtStart({ name: 'tls-auth-clients', text: 'YES' })).toContain('certificate');
    expect(dangerAtStart({ name: 'tls-auth-clients', text: 'optional' })).toBeUndefined();
  });

  it('unless somebody allows it', () => {
    expect(isAllowed(new Set(['maxmemory']), 'maxmemory')).toBe(true);
    expect(isAllowed(new Set(['maxmemory']), 'maxmemory-policy')).toBe(false);
    expect(isAllowed(new Set(['rename-command']), 'rename-command config')).toBe(true);
    expect(isAllowed(new Set(['rename-command config']), 'rename-command info')).toBe(false);
  });
});

test.each([
  ['1gb', 1024 ** 3],
  ['1G', 1000 ** 3],
  ['5Kb', 5120],
  ['7', 7],
  ['256Mi', undefined],
  ['5%', undefined],
  ['-1', undefined],
  ['', undefined],
])('the amount %j is %s', (text, amount) => {
  expect(amountOf(text)).toBe(amount);
});

test('what Redis made of a value', () => {
  expect([cutBy('1000', '500'), cutBy('1gb', '1073741824'), cutBy('KEA', 'AKE')]).toEqual([
    'Redis made 500 of 1000',
    undefined,
    undefined,
  ]);
  expect([
    cureFor('256Mi', 'argument must be a memory value'),
    cureFor('256Mi', 'no integer'),
    cureFor('256mb', ''),
  ]).toEqual(['Redis writes 256mb', undefined, undefined]);
});

describe('words of Redis', () => {
  const failed = (name: string, reason: string) =>
    `ERR CONFIG SET failed (possibly related to argument '${name}') - ${reason}`;

  test.each([
    [failed('databases', "can't set immutable config"), true],
    [failed('dir', "can't set protected config"), true],
    ["ERR Unknown option or number of arguments for CONFIG SET - 'maxmemroy'", true],
    [failed('maxmemory', 'argument must be a memory value'), false],
    [failed('bind', 'Failed to bind to specified addresses.'), false],
  ])('%s: only a start can set it: %s', (words, isStart) => {
    expect(isForStart(words)).toBe(isStart);
  });

  it('are told without the noise, and short', () => {
    expect(reasonOf(failed('save', 'Invalid save parameters'))).toBe('Invalid save parameters');
    expect(shortened('a\nb\0'.repeat(200))).toHaveLength(300);
    expect([isLasting(failed('a', 'argument must be')), isLasting(failed('a', 'Unable to turn on AOF'))]).toEqual([
      true,
      false,
    ]);
  });

  it('of a start have no line of the file, which has the value', () => {
    const output =
      "*** FATAL CONFIG FILE ERROR (Redis 7.0.15) ***\nReading the configuration file, at line 1\n>>> 'requirepas hunter2'\nBad directive";
    expect(startReasonOf(output, 'requirepas')).toBe('Bad directive');
    expect(startReasonOf('io-threads: Bad directive', 'io-threads')).toBe('Bad directive');
  });
});
