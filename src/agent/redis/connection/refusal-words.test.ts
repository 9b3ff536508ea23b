import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startRedis, type TestRedis } from '../../../../test/support/redis-process.ts';
import { refusalWords } from './refusal-words.ts';

describe('what Redis quotes', () => {
  let redis: TestRedis;
  beforeAll(async () => {
    redis = await startRedis({ directives: [['rename-command', 'HELLO ""']] });
  });
  afterAll(() => redis.stop());

  it.each([
    [['ACL', 'SETUSER', 'u', '<geheim'], "ERR Error in ACL SETUSER modifier '<***': "],
    [['ACL', 'SETUSER', 'u', '#geheim'], "ERR Error in ACL SETUSER modifier '#***': "],
    [['ACL', 'SETUSER', 'u', '(+get', '>geheim)'], 'ERR '],
    [['HELLO', '3', 'AUTH', 'default', 'geheim'], "ERR unknown command 'HELLO'"],
    [['HELLO', '3', 'AUTH', 'default', `geheim${'x'.repeat(200)}`], "ERR unknown command 'HELLO'"],
    [['AUTH', 'default', 'x', 'geheim'], 'ERR '],
    [['CONFIG', 'SET', 'maxmemory', '1zb', 'requirepass', 'geheim'], 'ERR CONFIG SET failed'],
    [['CONFIG', 'SET', 'requirepass', 'geheim', 'geheim', '1'], 'ERR '],
    [['GEHEIM2', 'geheim'], "ERR unknown command 'GEHEIM2'"],
  ])('%j has no secret in it', async (command, beginning) => {
    const error = await redis.send(...command).then(
      () => undefined,
      (failed: Error) => failed,
    );
    expect(error?.name).toBe('RedisRefusal');
    expect(error?.message.startsWith(beginning), error?.message).toBe(true);
    expect(error?.message).not.toContain('geheim');
    expect(error?.cause).toBeUndefined();
  });
});

it.each([
  [['CONFIG', 'SET', 'MasterAuth', 'a\nb'], "ERR bad 'a b', bad 'a\nb'", "ERR bad '***', bad '***'"],
  [['CONFIG', 'SET', 'maxmemory', 'x', 'masterauth', 'ERR'], 'ERR is ERR', 'ERR is ***'],
  [['CONFIG', 'SET', 'maxmemory', '256Mi'], "ERR '256Mi'", "ERR '256Mi'"],
  [['CONFIG', 'SET', 'masterauth', ''], 'ERR no', 'ERR no'],
  [['ACL', 'SETUSER', 'u', '>abc', '>ab', '~ab'], 'ERR abc ab', 'ERR *** ***'],
  [['AUTH', 'default', Buffer.from('pw')], 'WRONGPASS pw', 'WRONGPASS ***'],
  [['PING'], 'LOADING', 'LOADING'],
])('%j: %j', (command, words, expected) => {
  expect(refusalWords(words, command)).toBe(expected);
});
