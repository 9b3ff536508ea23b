import { once } from 'node:events';
import { connect, Socket } from 'node:net';
import { describe, expect, test, vi } from 'vitest';
import { eventually } from '../../../test/support/eventually.ts';
import { configMap } from '../../../test/support/scripted-api.ts';
import { collect, startClient as start } from '../../../test/support/scripted-client.ts';
import { CONFIG_MAPS } from '../../api/resources.ts';
import type { Tunnel } from '../auth/connection.ts';
import type { ClientOptions } from '../client.ts';

describe('through a tunnel, as proxies need it', () => {
  /** A client whose tunnels lead to the server as soon as its port is known. */
  async function through(script: Parameters<typeof start>[0], options: ClientOptions = {}) {
    let port = 0;
    const chunks: Buffer[] = [];
    const tunnel: Tunnel = async () => {
      const socket = connect(port, '127.0.0.1');
      await once(socket, 'connect');
      return socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    };
    const started = await start(script, options, { tunnel });
    port = Number(started.api.connection.server.port);
    return { ...started, chunks };
  }

  test('calls and watches', async () => {
    const { api, client } = await through({
      patch: [(e) => e.json(200, { ok: true })],
      watch: [(e) => e.event('ADDED', configMap('a', '6')).then(() => e.end())],
      get: [(e) => e.json(429, {}, { 'retry-after': '3' })],
    });
    expect(await client.patch(CONFIG_MAPS, { name: 'a' }, { b: 1 }, { type: 'merge' })).toEqual({ ok: true });
    expect(api.requests[0]).toMatchObject({ body: '{"b":1}', headers: { authorization: 'Bearer test' } });
    expect(await collect(client.watch(CONFIG_MAPS, {}, '5', new AbortController()))).toHaveLength(1);
    await expect(client.get(CONFIG_MAPS, { name: 'a' })).rejects.toMatchObject({ status: 429, retryAfterMs: 3000 });
  });

  test('a connection that was closed, one that breaks, one that falls silent', async () => {
    const { client } = await through({
      get: [(e) => e.json(200, {}), (e) => e.cut(), (e) => e.json(200, { ok: true })],
      create: [(e) => e.cut()],
    });
    const get = () => client.get(CONFIG_MAPS, { name: 'a' });
    await get();
    expect(await get()).toEqual({ ok: true });
    await expect(client.create(CONFIG_MAPS, 'a', {})).rejects.toMatchObject({ reason: 'Unreachable' });
    // With little patience, which a slow machine would try with the answers before.
    const silent = await through({ get: [(e) => e.write('{"a":')] }, { idleMs: 200 });
    await expect(silent.client.get(CONFIG_MAPS, { name: 'a' })).rejects.toMatchObject({ reason: 'Silent' });
  });

  test('calls over the limit wait for a free connection, watches do not', async () => {
    const gate = Promise.withResolvers<void>();
    const { api, client } = await through(
      { get: [(e) => gate.promise.then(() => e.json(200, {}))], watch: [() => {}] },
      { maxSockets: 1 },
    );
    const call = new AbortController();
    const get = (name: string, signal?: AbortSignal) => client.get(CONFIG_MAPS, { name }, { signal });
    const calls = [get('a'), get('b', call.signal).catch(() => {}), get('c')];
    call.abort();
    const watching = client.watch(CONFIG_MAPS, {}, '1', new AbortController()).next();
    await eventually(() => api.requests.length).toBe(2);
    gate.resolve();
    await Promise.all(calls);
    const gets = api.requests.filter(({ verb }) => verb === 'get');
    expect(gets.map(({ path }) => path)).toEqual(['/api/v1/configmaps/a', '/api/v1/configmaps/c']);
    expect(new Set(gets.map(({ socket }) => socket)).size).toBe(1);
    client.close();
    await expect(watching).rejects.toMatchObject({ reason: 'Unreachable' });
  });

  test('nothing of the body is left in the chunks that an answer came in, on a connection that is used again as well', async () => {
    const { api, client, chunks } = await through((e) => e.json(200, configMap('a', '1')));
    for (let n = 0; n < 3; n += 1) expect(await client.get(CONFIG_MAPS, { name: 'a' })).toEqual(configMap('a', '1'));
    expect(new Set(api.requests.map(({ socket }) => socket)).size).toBe(1);
    expect(chunks.length).toBeGreaterThan(2);
    await eventually(() => chunks.some((chunk) => chunk.includes('metadata'))).toBe(false);
  });

  test('a tunnel that fails, and one that never opens', async () => {
    const tunnel = vi.fn<Tunnel>().mockRejectedValueOnce(Object.assign(new Error(), { code: 'ENOENT' }));
    const { client } = await start(() => {}, {}, { tunnel });
    const get = () => client.get(CONFIG_MAPS, { name: 'a' });
    await expect(get()).rejects.toThrow(/Unreachable: 127\.0\.0\.1:\d+: the connection failed \(ENOENT\)$/);
    tunnel.mockReturnValue(new Promise(() => {}));
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const failed = expect(get()).rejects.toThrow(/Unreachable: no connection to 127\.0\.0\.1:\d+ within 10 s/);
    vi.advanceTimersByTime(10_000);
    vi.useRealTimers();
    await failed;
    expect(tunnel.mock.lastCall?.[1].aborted).toBe(true);
  });

  test('when one kept connection turns out to be dead, the others are not tried', async () => {
    let dead = 0;
    const { api, client } = await through((e) => (e.socket <= dead ? e.cut() : e.json(200, { ok: true })));
    await Promise.all([1, 2, 3].map(() => client.get(CONFIG_MAPS, { name: 'a' })));
    dead = 3;
    expect(await client.get(CONFIG_MAPS, { name: 'a' })).toEqual({ ok: true });
    expect(api.requests).toHaveLength(5);
  });

  test('a tunnel that opens after its call was called off, or after the end, is closed', async () => {
    const opening: PromiseWithResolvers<Socket>[] = [];
    const tunnel: Tunnel = () => {
      const next = Promise.withResolvers<Socket>();
      opening.push(next);
      return next.promise;
    };
    const { client } = await start(() => {}, { maxSockets: 1 }, { tunnel });
    const call = new AbortController();
    const calledOff = client.get(CONFIG_MAPS, { name: 'a' }, { signal: call.signal }).catch(() => 'called off');
    const waiting = client.get(CONFIG_MAPS, { name: 'b' }).catch((error: Error) => error.message);
    await eventually(() => opening.length).toBe(1);
    call.abort();
    const sockets = [new Socket(), new Socket()];
    for (const [at, socket] of sockets.entries()) {
      await eventually(() => opening.length).toBe(at + 1);
      if (at === 1) client.close();
      opening[at]?.resolve(socket);
      await eventually(() => socket.destroyed).toBe(true);
    }
    expect(await calledOff).toBe('called off');
    expect(await waiting).toMatch(/^get .*: Unreachable/);
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
