import { Agent } from 'node:http';
import { describe, expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { configMap } from '../../test/support/scripted-api.ts';
import { collect, startClient as start } from '../../test/support/scripted-client.ts';
import { CONFIG_MAPS, SECRETS } from '../api/resources.ts';
import type { ClientOptions } from './client.ts';
import { KubeError } from './kube-error.ts';

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

  test('429 tells how long to wait', async () => {
    const { client } = await start({ get: [(e) => e.json(429, {}, { 'retry-after': '2' })] });
    await expect(client.get(CONFIG_MAPS, { name: 'a' })).rejects.toMatchObject({
      reason: 'TooManyRequests',
      retryAfterMs: 2000,
    });
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
        .watch(CONFIG_MAPS, {}, '1', stop.signal)
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
});

describe('through an agent, as proxies need it', () => {
  const through = (script: Parameters<typeof start>[0], options: ClientOptions = {}) =>
    start(script, options, { agent: new Agent({ keepAlive: true }) });

  test('calls and watches', async () => {
    const { api, client } = await through({
      patch: [(e) => e.json(200, { ok: true })],
      watch: [(e) => e.event('ADDED', configMap('a', '6')).then(() => e.end())],
      get: [(e) => e.json(429, {}, { 'retry-after': '3' })],
    });
    expect(await client.patch(CONFIG_MAPS, { name: 'a' }, { b: 1 }, { type: 'merge' })).toEqual({ ok: true });
    expect(api.requests[0]).toMatchObject({ body: '{"b":1}', headers: { authorization: 'Bearer test' } });
    expect(await collect(client.watch(CONFIG_MAPS, {}, '5', new AbortController().signal))).toHaveLength(1);
    await expect(client.get(CONFIG_MAPS, { name: 'a' })).rejects.toMatchObject({ status: 429, retryAfterMs: 3000 });
  });

  test('a connection that was closed, one that breaks, one that falls silent', async () => {
    const { client } = await through(
      {
        get: [(e) => e.json(200, {}), (e) => e.cut(), (e) => e.json(200, { ok: true }), (e) => e.write('{"a":')],
        create: [(e) => e.cut()],
      },
      { idleMs: 200 },
    );
    const get = () => client.get(CONFIG_MAPS, { name: 'a' });
    await get();
    expect(await get()).toEqual({ ok: true });
    await expect(client.create(CONFIG_MAPS, 'a', {})).rejects.toMatchObject({ reason: 'Unreachable' });
    await expect(get()).rejects.toMatchObject({ reason: 'Silent' });
  });

  test('a call that is called off', async () => {
    const { api, client } = await through(() => {});
    const call = new AbortController();
    const reason = new Error('enough');
    const waiting = expect(client.get(CONFIG_MAPS, { name: 'a' }, { signal: call.signal })).rejects.toBe(reason);
    await eventually(() => api.requests.length).toBe(1);
    call.abort(reason);
    await waiting;
    await eventually(() => api.requests[0]?.closed).toBe(true);
  });
});
