import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { startRedis } from '../../../test/support/redis-process.ts';
import { connectRedis } from '../../agent/redis/connection/connect.ts';
import { createTryServer } from '../../agent/redis/server/run-trial.ts';
import { problemOf, quotedWord, renderStartFile } from './start-file.ts';

const tryServer = createTryServer({ redisServer: 'redis-server', connect: connectRedis });

/** What a real server that was started with these directives says of some of its settings. */
async function settingsOf(directives: readonly (readonly [string, string])[], ...keys: readonly string[]) {
  const result = await tryServer({ directives }, (redis) => redis.send('CONFIG', 'GET', ...keys));
  if (!result.ok) throw new Error(result.words);
  const words = result.value as readonly string[];
  return Object.fromEntries(words.flatMap((key, index) => (index % 2 === 0 ? [[key, words[index + 1]]] : [])));
}

describe('lines', () => {
  test.each([
    [[['maxmemory', '256mb']], 'maxmemory 256mb\n'],
    [[['notify-keyspace-events', '']], 'notify-keyspace-events ""\n'],
    [[['bind', '10.0.0.1 -::1']], 'bind "10.0.0.1 -::1"\n'],
    [[['save', '']], 'save ""\n'],
    [[['save', '900 1 300 10']], 'save ""\nsave "900 1 300 10"\n'],
    [[['masterauth', 'a"b\\c\n\r\t\u0001\u007fé']], 'masterauth "a\\"b\\\\c\\n\\r\\t\\x01\\x7fé"\n'],
    [[['masterauth', "it's #1"]], 'masterauth "it\'s #1"\n'],
    [[['rename-command', 'FLUSHALL ""']], 'rename-command FLUSHALL ""\n'],
    [
      [
        ['loadmodule', '/a.so x'],
        ['LoadModule', '/b.so'],
      ],
      'loadmodule /a.so x\nLoadModule /b.so\n',
    ],
  ] as const)('%j', (directives, text) => {
    expect(renderStartFile(directives)).toBe(text);
  });
});

describe('what no start file can hold is named, without its value', () => {
  test.each([
    ['a b', 'x', '"a b"'],
    ['', 'x', '""'],
    ['#comment', 'x', '"#comment"'],
    ['a\nport', 'x', String.raw`"a\nport"`],
    ['a\0', 'x', String.raw`"a\u0000"`],
    ['k"', 'x', String.raw`"k\""`],
    ['masterauth', 'secret\0', 'masterauth'],
    ['rename-command', 'secret\nport 1', 'rename-command'],
  ])('%j', (key, value, where) => {
    const problem = problemOf(key, value);
    expect(problem?.where).toBe(where);
    expect(problem?.what).not.toContain('secret');
  });

  test('all at once', () => {
    const render = () =>
      renderStartFile([
        ['a b', 'x'],
        ['maxmemory', '1gb'],
        ['masterauth', '\0'],
      ]);
    expect(render).toThrow(/^"a b": is no name.*; masterauth: its value has a NUL byte/);
  });

  test('a name of a megabyte is cut', () => {
    expect(problemOf('x y'.repeat(400_000), '')?.where.length).toBeLessThan(200);
  });

  test.each(['__proto__', 'constructor'])('%s is a name like any other', (key) => {
    expect(renderStartFile([[`${key.replaceAll('_', '')}`, 'x']])).toContain(' x\n');
  });
});

/** Values as CONFIG SET takes them, of everything that Redis splits into words, and of what it does not split. */
const SETTINGS = [
  ['save', ''],
  ['save', '900 1'],
  ['save', '900 1 300 10'],
  ['client-output-buffer-limit', ''], // a live server keeps what it has, here its defaults
  ['client-output-buffer-limit', 'normal 1mb 1mb 60'],
  ['client-output-buffer-limit', 'normal 1mb 1mb 60 replica 2mb 1mb 60 pubsub 0 0 0'],
  ['oom-score-adj-values', '0 100 200'],
  ['latency-tracking-info-percentiles', '50 99 99.9'],
  ['latency-tracking-info-percentiles', ''],
  ['shutdown-on-sigint', 'nosave force'],
  ['bind', '127.0.0.1 -::1'],
  ['bind', ''],
  ['bind-source-addr', '127.0.0.1'],
  ['notify-keyspace-events', 'KEA'],
  ['notify-keyspace-events', ''],
  ['tls-protocols', 'TLSv1.2 TLSv1.3'],
  ['proc-title-template', '{title} a b'],
  ['maxmemory', '1gb'],
  ['appendfsync', 'EVERYSEC'],
  ['MaxMemory-Policy', 'allkeys-lru'],
] as const;

describe('a start file means what CONFIG SET means', () => {
  test('for every kind of value', async () => {
    await using live = await startRedis();
    for (const [key, value] of SETTINGS) {
      await live.send('CONFIG', 'SET', key, value);
      const [name = '', set] = (await live.send('CONFIG', 'GET', key)) as readonly string[];
      expect([key, await settingsOf([[key, value]], key)]).toEqual([key, { [name]: set }]);
    }
  });

  test('the last one wins, also of save points', async () => {
    const directives = [
      ['save', '900 1 300 10'],
      ['maxmemory', '1mb'],
      ['save', '100 1'],
      ['maxmemory', '2mb'],
    ] as const;
    expect(await settingsOf(directives, 'save', 'maxmemory')).toEqual({ save: '100 1', maxmemory: '2097152' });
  });

  test('a value that is refused live is refused in the file', async () => {
    await using live = await startRedis();
    for (const [key, value] of [
      ['save', '""'],
      ['save', '900'],
      ['save', 'x y'],
      ['maxmemory', '256Mi'],
      ['oom-score-adj-values', '1 2'],
    ] as const) {
      await expect(live.send('CONFIG', 'SET', key, value)).rejects.toThrow('ERR');
      await expect(settingsOf([[key, value]], key)).rejects.toThrow(key);
    }
  });

  test('replicaof, renamed commands and users', async () => {
    const directives = [
      ['replicaof', '127.0.0.1 1'],
      ['rename-command', 'FLUSHALL ""'],
      ['rename-command', `FLUSHDB ${quotedWord('a "quoted" name')}`],
    ] as const;
    const result = await tryServer({ directives }, async (redis) => [
      await redis.send('CONFIG', 'GET', 'replicaof'),
      await redis.send('FLUSHALL').catch(String),
      await redis.send('a "quoted" name').catch(String),
    ]);
    expect(result).toEqual({
      ok: true,
      value: [
        ['replicaof', '127.0.0.1 1'],
        expect.stringContaining('unknown command'),
        expect.stringContaining('READONLY'),
      ],
    });
  });

  test('byte for byte, whatever is in it', async () => {
    const keys = ['masterauth', 'masteruser', 'tls-key-file-pass', 'tls-client-key-file-pass'];
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 40 }),
      fc.string({ unit: fc.constantFrom(...'\\"\'xn0 \n\r\t#{}é\u0001\u007f'), maxLength: 20 }),
    );
    const value = text.map((raw) => raw.replaceAll('\0', '')).filter((raw) => raw !== '');
    await fc.assert(
      fc.asyncProperty(fc.tuple(value, value, value, value), async (values) => {
        const directives = values.map((one, index) => [keys[index] ?? '', one] as const);
        expect(await settingsOf(directives, ...keys)).toEqual(Object.fromEntries(directives));
      }),
      { numRuns: 30 },
    );
  });
});
