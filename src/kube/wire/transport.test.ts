import { describe, expect, test } from 'vitest';
import { eventually } from '../../../test/support/eventually.ts';
import type { Exchange } from '../../../test/support/scripted-api.ts';
import { startClient as start } from '../../../test/support/scripted-client.ts';
import { virtualClock } from '../../../test/support/virtual-clock.ts';
import { CONFIG_MAPS, SECRETS } from '../../api/resources.ts';
import type { KubeClient } from '../client.ts';
import { KubeError } from '../kube-error.ts';

const raise = (error: Error): never => {
  throw error;
};

describe('failures', () => {
  const secret = 'c2VjcmV0LWJ5dGVz';

  test('an answer that is not JSON does not quote itself', async () => {
    const { client } = await start({ get: [(e) => void e.write(`{"data":"${secret}`).then(() => e.end())] });
    const error = await client.get(SECRETS, { namespace: 'a', name: 'b' }).catch((cause: unknown) => cause);
    expect(KubeError.is(error, 'BadAnswer')).toBe(true);
    expect(`${error} ${JSON.stringify(error)} ${(error as Error).stack} ${(error as Error).cause}`).not.toContain(
      secret,
    );
  });

  test('an answer of 100 MB is refused before it is held', async () => {
    const { client } = await start({
      get: [
        async (e) => {
          const piece = Buffer.alloc(1024 * 1024, 'x');
          for (let i = 0; i < 100; i += 1) await e.write(piece);
          e.end();
        },
      ],
    });
    await expect(client.get(CONFIG_MAPS, { name: 'a' })).rejects.toMatchObject({ reason: 'TooLarge', status: 0 });
  });

  test('large answers that come together are parsed in different turns of the event loop', async () => {
    const data = { text: 'x'.repeat(300_000) };
    const waiting: Exchange[] = [];
    const { client } = await start((exchange) => {
      if (waiting.push(exchange) === 8) for (const each of waiting) each.json(200, { metadata: {}, data });
    });
    let turn = 0;
    const count = (): void => {
      turn += 1;
      if (turns.length < 8) setImmediate(count);
    };
    const turns: number[] = [];
    const read = () => client.read(CONFIG_MAPS, { namespace: 'a', name: 'b' }, () => void turns.push(turn));
    setImmediate(count);
    await Promise.all(Array.from({ length: 8 }, read));
    expect(new Set(turns).size).toBe(8);
  });

  test('a large answer that nobody waits for any more is not parsed', async () => {
    const stop = new AbortController();
    const { client } = await start((exchange) => {
      exchange.json(200, { metadata: {}, data: { text: 'x'.repeat(300_000) } });
    });
    let taken = 0;
    const read = (signal?: AbortSignal) =>
      client.read(
        CONFIG_MAPS,
        { namespace: 'a', name: 'b' },
        () => {
          taken += 1;
          stop.abort(new Error('enough'));
        },
        { signal },
      );
    const results = await Promise.allSettled([read(), read(stop.signal)]);
    expect([taken, results.map(({ status }) => status)]).toEqual([1, ['fulfilled', 'rejected']]);
  });

  test('429 tells how long to wait', async () => {
    const { client } = await start({ get: [(e) => e.json(429, {}, { 'retry-after': '2' })] });
    await expect(client.get(CONFIG_MAPS, { name: 'a' })).rejects.toMatchObject({
      reason: 'TooManyRequests',
      retryAfterMs: 2000,
    });
  });

  test('429 may tell until when, by the clock of who says so', async () => {
    const headers = { date: 'Thu, 01 Jan 2026 12:00:00 GMT', 'retry-after': 'Thu, 01 Jan 2026 12:00:07 GMT' };
    const { client } = await start({ get: [(e) => e.json(429, {}, headers)] }, { clock: virtualClock() });
    await expect(client.get(CONFIG_MAPS, { name: 'a' })).rejects.toMatchObject({ retryAfterMs: 7000 });
  });

  test('no server, and half an answer', async () => {
    const { api, client } = await start({ get: [(e) => e.cut(), (e) => void e.write('{"a":').then(() => e.cut())] });
    const get = () => client.get(CONFIG_MAPS, { name: 'a' });
    await expect(get()).rejects.toMatchObject({ reason: 'Unreachable', status: 0 });
    await expect(get()).rejects.toMatchObject({ reason: 'Unreachable', status: 0 });
    await api[Symbol.asyncDispose]();
    await expect(get()).rejects.toMatchObject({ reason: 'Unreachable', status: 0 });
  });

  test('no answer, and one that falls silent', async () => {
    const { client } = await start({ get: [() => {}, (e) => e.write('{"a":')] }, { idleMs: 100 });
    await expect(client.get(CONFIG_MAPS, { name: 'a' })).rejects.toMatchObject({ reason: 'Silent', status: 0 });
    await expect(client.get(CONFIG_MAPS, { name: 'a' })).rejects.toMatchObject({ reason: 'Silent', status: 0 });
  });

  test('watches do not use up the connections of other calls', async () => {
    const { api, client } = await start({ watch: [() => {}], get: [(e) => e.json(200, {})] }, { maxSockets: 1 });
    const stop = new AbortController();
    const watches = [1, 2, 3].map(() =>
      client
        .watch(CONFIG_MAPS, {}, '1', stop)
        .next()
        .catch(() => {}),
    );
    await eventually(() => api.requests.length).toBe(3);
    await client.get(CONFIG_MAPS, { name: 'a' });
    stop.abort();
    await Promise.all(watches);
  });

  test('a read on a connection that the server had closed is asked again, a write is not', async () => {
    const { client } = await start({
      get: [(e) => e.json(200, {}), (e) => e.cut(), (e) => e.json(200, { ok: true })],
      create: [(e) => e.cut(), (e) => e.json(200, {})],
    });
    await client.get(CONFIG_MAPS, { name: 'a' });
    expect(await client.get(CONFIG_MAPS, { name: 'a' })).toEqual({ ok: true });
    await expect(client.create(CONFIG_MAPS, 'a', {})).rejects.toMatchObject({ reason: 'Unreachable' });
  });

  const threeLines = async (client: KubeClient) => {
    await Promise.all([1, 2, 3].map(() => client.get(CONFIG_MAPS, { name: 'a' })));
  };

  test('when one kept connection turns out to be dead, the others are not tried', async () => {
    let dead = 0;
    const { api, client } = await start((e) => (e.socket <= dead ? e.cut() : e.json(200, { ok: true })));
    await threeLines(client);
    dead = 3;
    expect(await client.get(CONFIG_MAPS, { name: 'a' })).toEqual({ ok: true });
    expect(api.requests).toHaveLength(5);
  });

  test('nor when it was silent until the caller lost patience', async () => {
    let dead = 0;
    const { api, client } = await start((e) => (e.socket <= dead ? undefined : e.json(200, { ok: true })));
    await threeLines(client);
    dead = 3;
    const call = new AbortController();
    const waiting = expect(client.replace(CONFIG_MAPS, { name: 'a' }, {}, { signal: call.signal })).rejects.toThrow();
    await eventually(() => api.requests.length).toBe(4);
    call.abort();
    await waiting;
    expect(await client.replace(CONFIG_MAPS, { name: 'a' }, {})).toEqual({ ok: true });
  });

  test('a call that is called off ends with the reason given, before and after it was sent', async () => {
    const { api, client } = await start(() => {});
    const stop = new AbortController();
    const reason = new Error('enough');
    const waiting = client.get(CONFIG_MAPS, { name: 'a' }, { signal: stop.signal });
    const check = expect(waiting).rejects.toBe(reason);
    await eventually(() => api.requests.length).toBe(1);
    stop.abort(reason);
    await check;
    await expect(client.get(CONFIG_MAPS, { name: 'a' }, { signal: stop.signal })).rejects.toBe(reason);
    expect(client.inFlight).toBe(0);
  });

  test('after a 401 the credential is asked for anew, once', async () => {
    const asked: boolean[] = [];
    const authorization = (refused = false) => {
      asked.push(refused);
      return refused ? 'Bearer new' : 'Bearer old';
    };
    const { client } = await start(
      (e) => (e.headers.authorization === 'Bearer new' ? e.json(200, {}) : e.status(401, 'Unauthorized')),
      {},
      { authorization },
    );
    await client.get(CONFIG_MAPS, { name: 'a' });
    expect(asked).toEqual([false, true]);
  });

  test('after a 401 it is asked on a new connection, which alone shows a new certificate', async () => {
    let isExpired = false;
    const tls = { cert: 'renewed' };
    const { api, client } = await start(
      (e) => (isExpired && e.socket === 1 ? e.status(401, 'Unauthorized') : e.json(200, {})),
      {},
      { tls: () => tls },
    );
    await client.get(CONFIG_MAPS, { name: 'a' });
    isExpired = true;
    await client.get(CONFIG_MAPS, { name: 'a' });
    expect(api.requests.map(({ socket }) => socket)).toEqual([1, 1, 2]);
  });

  const unread = Object.assign(new Error(`cannot read ${secret}`), { code: 'ENOENT' });
  test.each([
    ['thrown', () => Promise.reject(unread), 'no credential: ENOENT'],
    ['not even promised', () => raise(unread), 'no credential: ENOENT'],
    ['of a plugin', () => Promise.reject(Object.assign(new Error(secret), { code: secret })), 'no credential'],
  ])(
    'a credential that cannot be had (%s) is as no server at all, and quotes nothing',
    async (_, authorization, detail) => {
      const { client } = await start((e) => e.json(200, {}), {}, { authorization });
      const error = await client.get(CONFIG_MAPS, { name: 'a' }).catch((cause: unknown) => cause);
      expect(error).toMatchObject({ status: 0, reason: 'Unreachable' });
      expect((error as Error).message).toBe(`get /api/v1/configmaps/a: Unreachable: ${detail}`);
      expect(`${(error as Error).stack} ${(error as Error).cause}`).not.toContain(secret);
    },
  );

  test('who calls off does not wait for a credential', async () => {
    const { client } = await start(() => {}, {}, { authorization: () => new Promise<string>(() => {}) });
    const call = new AbortController();
    const reason = new Error('enough');
    const get = () => client.get(CONFIG_MAPS, { name: 'a' }, { signal: call.signal });
    const waiting = expect(get()).rejects.toBe(reason);
    call.abort(reason);
    await waiting;
    await expect(get()).rejects.toBe(reason);
  });

  test('a watch whose answer does not begin is lost sooner than one that is quiet', async () => {
    const { client } = await start({ watch: [() => {}] }, { idleMs: 100, watchIdleMs: 1_000_000 });
    const watching = client.watch(CONFIG_MAPS, {}, '1', new AbortController()).next();
    await expect(watching).rejects.toMatchObject({ reason: 'Silent' });
  });
});

test("the server's time is known, and only looked up now and then", async () => {
  const clock = virtualClock();
  const dates = ['Thu, 01 Jan 2026 12:00:00 GMT', 'Thu, 01 Jan 2026 15:00:00 GMT', 'Thu, 01 Jan 2026 18:00:00 GMT'];
  const { client } = await start((e) => e.json(200, {}, { date: dates.shift() ?? '' }), { clock });
  const after = async (ms: number) => {
    clock.advance(ms);
    await client.get(CONFIG_MAPS, { name: 'a' });
    return new Date(client.serverNow()).toISOString();
  };
  expect(await after(0)).toBe('2026-01-01T12:00:00.000Z');
  clock.jump(-3_600_000);
  expect(await after(100)).toBe('2026-01-01T12:00:00.100Z');
  expect(await after(1000)).toBe('2026-01-01T18:00:00.000Z');
});
