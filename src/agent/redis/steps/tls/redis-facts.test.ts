import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  makeRedisAuthority,
  makeRedisLeaf,
  type TestAuthority,
  type TestPair,
  tlsFiles,
} from '../../../../../test/support/redis-certificates.ts';
import { loopbackAddress, startRedis, type TestRedis } from '../../../../../test/support/redis-process.ts';
import { HandshakeRefused, lookAt, proveBy } from './handshake.ts';

/** What this step relies on, on the server that is installed here. */
describe('A4: Redis and its three files', () => {
  const host = loopbackAddress();
  const target = { host, port: 6379 };
  let root: TestAuthority;
  let other: TestAuthority;
  let first: TestPair;
  let second: TestPair;
  let redis: TestRedis;

  beforeAll(async () => {
    root = await makeRedisAuthority();
    other = await makeRedisAuthority();
    first = await makeRedisLeaf(root);
    second = await makeRedisLeaf(root);
  });
  beforeEach(async () => {
    redis = await startRedis({ host, tls: { cert: first.cert, key: first.key, ca: root.cert } });
  });
  afterEach(() => redis.stop());

  const served = async (): Promise<string> => ((await lookAt(target)).leaf === second.fingerprint ? 'second' : 'first');
  const put = async (prefix: string, pair: TestPair, ca: string): Promise<void> => {
    for (const [name, content] of Object.entries({ ...tlsFiles(pair), 'ca.crt': ca })) {
      await writeFile(join(redis.dir, `${prefix}${name}`), content);
    }
  };
  const set = async (...pairs: readonly (readonly [key: string, file: string])[]): Promise<string> => {
    const words = pairs.flatMap(([key, file]) => [`tls-${key}-file`, join(redis.dir, file)]);
    return await redis.send('CONFIG', 'SET', ...words).then(String, (error: Error) => error.message);
  };
  const REFUSED = expect.stringContaining('Unable to update TLS configuration');

  it('the same path again reads all three files', async () => {
    await put('', second, root.cert);
    expect([await set(['cert', 'tls.crt']), await served()]).toEqual(['OK', 'second']);
  });

  it('certificate new, key old: refused, the old one is served on', async () => {
    await writeFile(join(redis.dir, 'tls.crt'), second.cert);
    expect([await set(['cert', 'tls.crt']), await served()]).toEqual([REFUSED, 'first']);
  });

  it('new paths one by one are refused both ways, together they are taken', async () => {
    await put('new-', second, root.cert);
    expect(await set(['cert', 'new-tls.crt'])).toEqual(REFUSED);
    expect(await set(['key', 'new-tls.key'])).toEqual(REFUSED);
    expect(await served()).toBe('first');
    expect(await set(['cert', 'new-tls.crt'], ['key', 'new-tls.key'], ['ca-cert', 'new-ca.crt'])).toBe('OK');
    expect(await served()).toBe('second');
  });

  it.each([
    ['a missing file', 'nowhere'],
    ['garbage', 'garbage'],
  ])('%s as authority: refused, the old one is served on', async (_, file) => {
    await writeFile(join(redis.dir, 'garbage'), 'x');
    expect([await set(['ca-cert', file]), await served()]).toEqual([REFUSED, 'first']);
  });

  it('a leaf that its authority has not signed is taken; only a handshake finds it', async () => {
    await put('', await makeRedisLeaf(other), root.cert);
    expect(await set(['cert', 'tls.crt'])).toBe('OK');
    await expect(proveBy(target, { ca: root.cert })).rejects.toBeInstanceOf(HandshakeRefused);
  });

  it('a certificate for servers only is refused when a replica shows it', async () => {
    const narrow = await makeRedisLeaf(root, { usages: ['server'] });
    await expect(proveBy(target, { ca: root.cert, client: narrow })).rejects.toThrow('when a replica shows it');
    expect((await proveBy(target, { ca: root.cert, client: second })).leaf).toBe(first.fingerprint);
  });

  it('a handshake with nobody says that Redis cannot be reached', async () => {
    await redis.stop();
    await expect(lookAt(target)).rejects.toMatchObject({ name: 'RedisUnreachable' });
  });
});
