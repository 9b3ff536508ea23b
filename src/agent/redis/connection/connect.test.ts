import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../../../../test/support/eventually.ts';
import { loopbackAddress, startRedis, type TestRedis } from '../../../../test/support/redis-process.ts';
import { selfSigned } from '../../../../test/support/self-signed.ts';
import { type ConnectOptions, connectRedis, type RedisConnection } from './connect.ts';
import { type Credential, RedisRefusal, RedisUnreachable } from './redis.ts';
import type { RedisTarget } from './target.ts';

let redis: TestRedis;
const open: RedisConnection[] = [];

const none: Credential = { user: 'default', password: undefined };
const login = (password: string, user = 'default'): Credential => ({ user, password });

async function connect(target: RedisTarget, options: Partial<ConnectOptions> = {}): Promise<RedisConnection> {
  const connection = await connectRedis(target, { credentials: () => [none], ...options });
  open.push(connection);
  return connection;
}
const failure = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'no failure',
    (error) => error,
  );
const clients = async (): Promise<number> =>
  String(await redis.send('CLIENT', 'LIST'))
    .trim()
    .split('\n').length;

afterEach(async () => {
  for (const connection of open.splice(0)) connection.close();
  await redis?.stop();
});

describe('a Redis on a socket', () => {
  beforeEach(async () => {
    redis = await startRedis({ directives: [['enable-debug-command', 'yes']] });
  });

  it('answers with texts, numbers, nothing and lists, in the order of the questions', async () => {
    const connection = await connect({ path: redis.path });
    const bytes = Buffer.from([0, 1, 13, 10, 255]);
    const replies = await Promise.all([
      connection.send('SET', 'k', bytes),
      connection.send('STRLEN', 'k'),
      connection.send('GET', 'none'),
      connection.send('ECHO', 'Grüße "\r\n'),
      connection.send('EVAL', 'return {1, "a", {2, false}}', '0'),
      connection.send('CONFIG', 'GET', 'maxmemory'),
    ]);
    expect(replies).toEqual(['OK', 5, null, 'Grüße "\r\n', [1, 'a', [2, null]], ['maxmemory', '0']]);
  });

  it('refuses with its own words, and goes on', async () => {
    const connection = await connect({ path: redis.path });
    const refusal = await failure(connection.send('CONFIG', 'SET', 'maxmemory', '256Mi'));
    expect(refusal).toBeInstanceOf(RedisRefusal);
    expect(refusal).toMatchObject({ code: 'ERR', message: expect.stringContaining('must be a memory value') });
    await redis.send('REPLICAOF', '127.0.0.1', '1');
    expect(await failure(connection.send('SET', 'a', 'b'))).toMatchObject({ code: 'READONLY' });
    expect(await failure(connection.send('EVAL', 'return {1, redis.error_reply("ERR inside")}', '0'))).toMatchObject({
      name: 'RedisRefusal',
      message: 'ERR inside',
    });
    expect(await connection.send('PING')).toBe('PONG');
  });

  it('that hangs loses the connection after the time allowed', async () => {
    let lost = 0;
    const connection = await connect(
      { path: redis.path },
      {
        timeoutMs: 1000,
        onLost: () => {
          lost += 1;
        },
      },
    );
    process.kill(redis.pid, 'SIGSTOP');
    try {
      const words = `Redis at ${redis.path} does not answer for 1 s`;
      const [first, second] = await Promise.all([failure(connection.send('PING')), failure(connection.send('PING'))]);
      expect(first).toBeInstanceOf(RedisUnreachable);
      expect(first).toMatchObject({ message: words, undelivered: false });
      expect(second).toMatchObject({ message: words });
      expect([connection.isOpen, lost]).toEqual([false, 1]);
      expect(await failure(connect({ path: redis.path }, { timeoutMs: 1000 }))).toMatchObject({ message: words });
    } finally {
      process.kill(redis.pid, 'SIGCONT');
    }
    await eventually(clients).toBe(1);
  });

  it('is not called silent by somebody who was stopped himself', async () => {
    const connection = await connect({ path: redis.path }, { timeoutMs: 500 });
    const answer = connection.send('PING');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500);
    expect(await answer).toBe('PONG');
  });

  it('that has closed the connection is unreachable by it', async () => {
    let lost = 0;
    const connection = await connect(
      { path: redis.path },
      {
        onLost: () => {
          lost += 1;
        },
      },
    );
    const id = String(await connection.send('CLIENT', 'ID'));
    const blocked = failure(connection.send('BLPOP', 'list', '0'));
    await eventually(() => redis.send('CLIENT', 'LIST')).toContain('cmd=blpop');
    await redis.send('CLIENT', 'KILL', 'ID', id);
    expect(await blocked).toMatchObject({ name: 'RedisUnreachable', undelivered: false });
    expect(await failure(connection.send('PING'))).toMatchObject({
      name: 'RedisUnreachable',
      message: `Redis at ${redis.path} has closed the connection`,
      undelivered: true,
    });
    expect(lost).toBe(1);
  });

  it('is left by close, without a word to anybody', async () => {
    let lost = 0;
    const connection = await connect(
      { path: redis.path },
      {
        onLost: () => {
          lost += 1;
        },
      },
    );
    const blocked = failure(connection.send('BLPOP', 'list', '0'));
    connection.close();
    connection.close();
    expect(await blocked).toMatchObject({ message: `Redis at ${redis.path}: the connection is closed` });
    await eventually(clients).toBe(1);
    expect(lost).toBe(0);
  });

  it('is given up on a signal: before, while and after connecting', async () => {
    const gone = { name: 'RedisUnreachable', message: `Redis at ${redis.path}: the connection was given up` };
    expect(await failure(connect({ path: redis.path }, { signal: AbortSignal.abort() }))).toMatchObject(gone);
    const later = new AbortController();
    const connection = await connect({ path: redis.path }, { signal: later.signal });
    later.abort();
    expect(await failure(connection.send('PING'))).toMatchObject(gone);
    process.kill(redis.pid, 'SIGSTOP');
    try {
      const connecting = failure(connect({ path: redis.path }, { signal: AbortSignal.timeout(20) }));
      expect(await connecting).toMatchObject(gone);
      const atOnce = new AbortController();
      const begun = failure(connect({ path: redis.path }, { signal: atOnce.signal }));
      atOnce.abort();
      expect(await begun).toMatchObject(gone);
    } finally {
      process.kill(redis.pid, 'SIGCONT');
    }
    await eventually(clients).toBe(1);
  });

  it('that is not there is named', async () => {
    const path = join(redis.dir, 'none');
    expect(await failure(connect({ path }))).toMatchObject({
      name: 'RedisUnreachable',
      message: `Redis at ${path} is not there: no such socket`,
    });
    const host = loopbackAddress();
    expect(await failure(connect({ host, port: 6379 }))).toMatchObject({
      message: `Redis at ${host}:6379 is not there: nobody listens`,
    });
  });
});

describe('logging in', () => {
  it('tries one credential after the other, and says whose has worked', async () => {
    redis = await startRedis({ acl: 'user default on >new ~* +@all\nuser ops on >secret ~* +@all\n' });
    redis.credentials.unshift(login('new'));
    const target = { path: redis.path };
    const user = async (...credentials: Credential[]) =>
      (await connect(target, { credentials: () => credentials })).user;
    expect(await user(login('old'), login('new'))).toBe('default');
    expect(await user(none, login('secret', 'ops'))).toBe('ops');
    expect(await open.at(-1)?.send('ACL', 'WHOAMI')).toBe('ops');
    const refusal = await failure(user(none, login('geheim1'), login('geheim2', 'ops'), login('x', 'no such')));
    expect(refusal).toBeInstanceOf(RedisRefusal);
    expect(refusal).toMatchObject({
      code: 'WRONGPASS',
      message:
        'WRONGPASS no login is accepted; tried: none at all, user "default" with a password, user "ops" with a password, user "no such" with a password',
    });
    expect(await failure(user(none))).toMatchObject({ code: 'NOAUTH' });
    expect(await failure(user())).toMatchObject({ code: 'NOAUTH' });
    await eventually(clients).toBe(3);
  });

  it('is no matter for a Redis without a password, whatever is tried', async () => {
    redis = await startRedis();
    const connection = await connect({ path: redis.path }, { credentials: () => [login('any')] });
    expect([connection.user, await connection.send('PING')]).toEqual(['default', 'PONG']);
  });

  it('asks for the credentials at each connect', async () => {
    redis = await startRedis({ directives: [['requirepass', 'p 1']] });
    let password = 'p 1';
    const credentials = () => [login(password)];
    await connect({ path: redis.path }, { credentials });
    password = 'p2';
    expect(await failure(connect({ path: redis.path }, { credentials }))).toMatchObject({ code: 'WRONGPASS' });
  });

  it('works while Redis loads, which then refuses everything else', async () => {
    redis = await startRedis({ directives: [['rdbcompression', 'no']] });
    await redis.send('EVAL', 'for i = 1, 100 do redis.call("SET", i, string.rep("x", 2000)) end', '0');
    await redis.send('SAVE');
    const loading = await startRedis({
      dir: redis.dir,
      directives: [
        ['key-load-delay', '100000'],
        ['loading-process-events-interval-bytes', '1024'],
      ],
    });
    try {
      const connection = await connect({ path: loading.path });
      expect(await failure(connection.send('GET', '1'))).toMatchObject({ name: 'RedisRefusal', code: 'LOADING' });
      expect(await connection.send('CONFIG', 'SET', 'key-load-delay', '0')).toBe('OK');
      await eventually(() => connection.send('GET', '1').catch(() => '')).toBe('x'.repeat(2000));
    } finally {
      await loading.stop();
    }
  });
});

describe('a closed door', () => {
  it('too many clients: says so, by socket and by TCP, every time', async () => {
    const host = loopbackAddress();
    redis = await startRedis({ host });
    await redis.send('CONFIG', 'SET', 'maxclients', '1');
    for (let round = 0; round < 10; round += 1) {
      for (const target of [{ path: redis.path }, { host, port: 6379 }]) {
        const refusal = await failure(connect(target, { credentials: () => [login('x'), none] }));
        expect(refusal).toMatchObject({ name: 'RedisRefusal', message: 'ERR max number of clients reached' });
      }
    }
  });

  const outside = Object.values(networkInterfaces())
    .flat()
    .find((address) => address?.family === 'IPv4' && !address.internal)?.address;
  it.skipIf(outside === undefined)('protected mode: says so', async () => {
    redis = await startRedis({
      directives: [
        ['bind', outside ?? ''],
        ['port', '16379'],
      ],
    });
    const refusal = await failure(connect({ host: outside ?? '', port: 16379 }));
    expect(refusal).toMatchObject({ name: 'RedisRefusal', code: 'DENIED' });
  });
});

describe('TLS', () => {
  const server = selfSigned('redis.example');
  const other = selfSigned('redis.example');
  let host: string;
  const words = (what: string) => ({ name: 'RedisUnreachable', message: expect.stringContaining(what) });

  beforeEach(async () => {
    host = loopbackAddress();
    redis = await startRedis({ host, tls: { ...server, ca: server.cert } });
  });

  it('checks the authority, not the name', async () => {
    const connection = await connect({ host, port: 6379, tls: { ca: Buffer.from(server.cert) } });
    expect(await connection.send('PING')).toBe('PONG');
    for (const ca of [Buffer.from(other.cert), undefined]) {
      expect(await failure(connect({ host, port: 6379, tls: { ca } }))).toMatchObject(words('self-signed certificate'));
    }
  });

  it('fails where one side does not speak it', async () => {
    expect(await failure(connect({ host, port: 6379 }))).toMatchObject({ name: 'RedisUnreachable' });
    await using plain = await startRedis({ host: loopbackAddress(), directives: [['port', '6380']] });
    const address = String(await plain.send('CONFIG', 'GET', 'bind')).split(',')[1] ?? '';
    const tls = { ca: Buffer.from(server.cert) };
    expect(await failure(connect({ host: address, port: 6380, tls }, { timeoutMs: 1000 }))).toMatchObject({
      name: 'RedisUnreachable',
    });
  });

  it('too many clients: at least that it was closed', async () => {
    await redis.send('CONFIG', 'SET', 'maxclients', '1');
    const failed = await failure(connect({ host, port: 6379, tls: { ca: Buffer.from(server.cert) } }));
    expect(failed).toMatchObject(words('has closed the connection'));
  });
});
