import { describe, expect, it, test } from 'vitest';
import { clusterView } from '../../../../test/support/cluster-view.ts';
import { ownerOf, parameterOf } from './parameter-names.ts';
import { lineText, parseStartLine } from './start-line.ts';
import { wantedConfig } from './wanted.ts';

const of = (redis: Readonly<Record<string, string>>) =>
  wantedConfig(clusterView({ redis: new Map(Object.entries(redis)) }));

describe('what is wanted', () => {
  it('comes in the order of names, each in the case of Redis', () => {
    expect(of({ Timeout: '1', hz: '2', 'min-slaves-to-write': '3' }).wanted).toMatchObject([
      { name: 'hz', label: 'hz', path: 'spec.redis.hz', text: '2' },
      { name: 'min-replicas-to-write', label: 'min-slaves-to-write' },
      { name: 'timeout', label: 'Timeout', path: 'spec.redis.Timeout' },
    ]);
  });

  it('a line may be there several times, with another argument each', () => {
    const { wanted, rejected } = of({
      'rename-command KEYS': '',
      'rename-command FLUSHALL': '""',
      'rename-command': 'SAVE x',
    });
    expect(wanted.map(({ name, text }) => [name, text])).toEqual([
      ['rename-command flushall', 'flushall ""'],
      ['rename-command keys', 'keys ""'],
      ['rename-command save', 'save x'],
    ]);
    expect(rejected).toEqual([]);
    expect(of({ 'rename-command KEYS': '', 'rename-command keys': 'a' }).rejected).toHaveLength(2);
  });

  it('what is rejected is kept as it was, what is gone is not', () => {
    const config = of({ timeout: 'a\nb', hz: '1' });
    expect(['timeout', 'hz', 'save'].map((name) => config.isKept(name))).toEqual([true, false, false]);
  });

  test.each([
    ['spec', ['maxmemory', 'timeout']],
    ['spec.redis', ['maxmemory', 'timeout']],
    ['spec.redis.Timeout', ['timeout']],
    ['spec.memory.maxMemory', ['maxmemory']],
    ['spec.resources.limits.memory', ['maxmemory']],
    ['spec.replicaMode', []],
  ])('a problem with %s keeps %j', (where, kept) => {
    const config = wantedConfig(clusterView({ problems: [{ where, what: '' }] }));
    expect(['maxmemory', 'timeout'].filter((name) => config.isKept(name))).toEqual(kept);
  });

  test.each([
    ['', 'the key is empty'],
    ['  ', 'the key is empty'],
    [' hz', 'the key has a blank'],
    ['save 900', 'the key is save, all else belongs into the value'],
    ['max*', 'no name of a parameter'],
    ['[a', 'no name of a parameter'],
    ['hz\0', 'no name of a parameter'],
    ['größe', 'no name of a parameter'],
    ['x'.repeat(10_000), 'the key has 10000 characters'],
    ['rename-command A B', 'needs a command and its new name'],
    ['rename-command', 'needs a command and its new name'],
    ['rename-command "A', 'quotes are not balanced'],
    ['loadmodule', 'needs the path of a module'],
  ])('the key %j is rejected', (key, why) => {
    const { wanted, rejected } = of({ [key]: key.includes(' B') ? 'C' : '' });
    expect(wanted).toEqual([]);
    expect(rejected).toEqual([expect.objectContaining({ why: expect.stringContaining(why) })]);
    expect(rejected[0]?.label.length).toBeLessThan(200);
  });
});

describe('names', () => {
  test.each([
    ['SLAVEOF', 'replicaof'],
    ['min-slaves-to-write', 'min-replicas-to-write'],
    ['repl-ping-slave-period', 'repl-ping-replica-period'],
    ['zset-max-ziplist-value', 'zset-max-listpack-value'],
    ['lua-time-limit', 'busy-reply-threshold'],
    ['module.slave', 'module.slave'],
  ])('%s is %s', (name, parameter) => {
    expect(parameterOf(name)).toBe(parameter);
  });

  it('what belongs to the agent', () => {
    const owned = [
      'port',
      'replica-announce-port',
      'cluster-announce-tls-port',
      'pidfile',
      'enable-protected-configs',
      'include',
    ];
    for (const name of owned) expect([name, ownerOf(name)]).toEqual([name, expect.any(String)]);
    const free = ['bind', 'cluster-node-timeout', 'tls-protocols', 'replica-announced', 'constructor', '__proto__'];
    for (const name of free) expect([name, ownerOf(name)]).toEqual([name, undefined]);
  });
});

describe('lines', () => {
  test.each([
    ['loadmodule', '/x.so', 'a \'b c\' "d\\"e"', '/x.so a "b c" "d\\"e"'],
    ['loadmodule', '', '/x.so', '/x.so'],
    ['rename-command', 'FLUSHALL', '', 'flushall ""'],
    ['rename-command', 'FLUSHALL', "''", 'flushall ""'],
    ['rename-command', '', 'FLUSHALL Hidden', 'flushall Hidden'],
  ] as const)('%s %s %j is written %j', (directive, argument, value, text) => {
    const line = parseStartLine(directive, argument, value);
    expect(typeof line === 'string' ? line : lineText(line)).toBe(text);
  });
});
