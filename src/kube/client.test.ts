import { Agent } from 'node:http';
import { afterEach, describe, expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { configMap, listOf, type ScriptedApi, scriptedApi } from '../../test/support/scripted-api.ts';
import { CONFIG_MAPS, NAMESPACES, SECRETS } from '../api/resources.ts';
import { type ClientOptions, KubeClient } from './client.ts';
import { KubeError } from './kube-error.ts';

const open: { client: KubeClient; api: ScriptedApi }[] = [];
afterEach(async () => {
  for (const { client, api } of open.splice(0)) {
    client.close();
    await api[Symbol.asyncDispose]();
  }
});

async function start(script: Parameters<typeof scriptedApi>[0], options: ClientOptions = {}) {
  const api = await scriptedApi(script);
  const client = new KubeClient(api.connection, options);
  open.push({ client, api });
  return { api, client };
}

const collect = async <T>(pages: AsyncIterable<T>) => {
  const all: T[] = [];
  for await (const page of pages) all.push(page);
  return all;
};

describe('what goes over the wire', () => {
  test('each call: method, path, query, media type, body', async () => {
    const { api, client } = await start((exchange) => exchange.json(200, { status: { token: 't' } }));
    const web = { namespace: 'shop', name: 'web' };
    await client.get(CONFIG_MAPS, web);
    await client.get(NAMESPACES, { name: 'shop' });
    await client.create(CONFIG_MAPS, 'shop', { a: 1 }, { fieldManager: 'attune', dryRun: true });
    await client.replace(CONFIG_MAPS, web, { a: 2 }, { subresource: 'status' });
    await client.patch(CONFIG_MAPS, web, '{"raw":true}', { type: 'merge' });
    await client.patch(CONFIG_MAPS, web, [{ op: 'test' }], { type: 'json' });
    await client.patch(CONFIG_MAPS, web, {}, { type: 'strategic', fieldManager: 'a b' });
    await client.patch(CONFIG_MAPS, web, {}, { type: 'apply', fieldManager: 'attune', force: true });
    await client.delete(CONFIG_MAPS, web, { uid: 'u', resourceVersion: '7', propagation: 'Background' });
    await client.evict(web);
    expect(await client.requestToken(web, 600)).toBe('t');
    const seen = api.requests.map((r) => `${r.verb} ${r.path}?${r.query} ${r.headers['content-type'] ?? ''} ${r.body}`);
    const base = '/api/v1/namespaces/shop';
    expect(seen).toEqual([
      `get ${base}/configmaps/web?  `,
      `get ${base}?  `,
      `create ${base}/configmaps?fieldManager=attune&dryRun=All application/json {"a":1}`,
      `update ${base}/configmaps/web/status? application/json {"a":2}`,
      `patch ${base}/configmaps/web? application/merge-patch+json {"raw":true}`,
      `patch ${base}/configmaps/web? application/json-patch+json [{"op":"test"}]`,
      `patch ${base}/configmaps/web?fieldManager=a+b application/strategic-merge-patch+json {}`,
      `patch ${base}/configmaps/web?fieldManager=attune&force=true application/apply-patch+yaml {}`,
      `delete ${base}/configmaps/web? application/json ${JSON.stringify({
        kind: 'DeleteOptions',
        apiVersion: 'v1',
        preconditions: { uid: 'u', resourceVersion: '7' },
        propagationPolicy: 'Background',
      })}`,
      `create ${base}/pods/web/eviction? application/json ${JSON.stringify({
        apiVersion: 'policy/v1',
        kind: 'Eviction',
        metadata: web,
      })}`,
      `create ${base}/serviceaccounts/web/token? application/json ${JSON.stringify({
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        spec: { expirationSeconds: 600 },
      })}`,
    ]);
    expect(api.requests[0]?.headers['authorization']).toBe('Bearer test');
  });

  test('connections are kept: ten calls, one socket', async () => {
    const { api, client } = await start((exchange) => exchange.json(200, {}));
    for (let i = 0; i < 10; i += 1) await client.get(CONFIG_MAPS, { namespace: 'a', name: 'b' });
    expect(new Set(api.requests.map(({ socket }) => socket)).size).toBe(1);
  });

  test('calls over the limit wait for a free connection, and one that was called off does not', async () => {
    const gate = Promise.withResolvers<void>();
    const { api, client } = await start((e) => gate.promise.then(() => e.json(200, {})), { maxSockets: 1 });
    const call = new AbortController();
    const get = (name: string, signal?: AbortSignal) => client.get(CONFIG_MAPS, { name }, { signal });
    const calls = [get('a'), get('b', call.signal).catch(() => {}), get('c')];
    call.abort();
    gate.resolve();
    await Promise.all(calls);
    expect(api.requests.map(({ path, socket }) => [path, socket])).toEqual([
      ['/api/v1/configmaps/a', 1],
      ['/api/v1/configmaps/c', 1],
    ]);
  });

  test('a call that waits is sent when the connection before it breaks', async () => {
    const { client } = await start({ create: [(e) => e.cut(), (e) => e.json(201, { ok: true })] }, { maxSockets: 1 });
    const first = client.create(CONFIG_MAPS, 'a', {});
    const second = client.create(CONFIG_MAPS, 'a', {});
    await expect(first).rejects.toMatchObject({ reason: 'Unreachable' });
    expect(await second).toEqual({ ok: true });
  });

  test('a credential of two lines is not sent', async () => {
    const { api } = await start(() => {});
    const client = new KubeClient({ ...api.connection, authorization: () => 'Bearer a\r\nx: y' });
    await expect(client.get(CONFIG_MAPS, { name: 'a' })).rejects.toMatchObject({ reason: 'Unreachable' });
    expect(api.requests).toEqual([]);
  });

  test('after close nothing is sent', async () => {
    const { api, client } = await start((e) => e.json(200, {}));
    await client.get(CONFIG_MAPS, { name: 'a' });
    client.close();
    await expect(client.get(CONFIG_MAPS, { name: 'a' })).rejects.toMatchObject({ reason: 'Unreachable' });
    expect(api.requests).toHaveLength(1);
  });

  test('each exchange is observed, also one without an answer', async () => {
    const seen: string[] = [];
    const { client } = await start(
      { get: [(e) => e.json(200, {}), (e) => e.status(404, 'NotFound')], create: [(e) => e.cut()] },
      { observe: ({ verb, resource, code }) => seen.push(`${verb} ${resource} ${code}`) },
    );
    await client.get(CONFIG_MAPS, { name: 'a' });
    await client.get(CONFIG_MAPS, { name: 'a' }).catch(() => {});
    await client.create(CONFIG_MAPS, 'a', {}).catch(() => {});
    expect(seen).toEqual(['get configmaps 200', 'get configmaps 404', 'create configmaps <error>']);
  });
});

describe('list', () => {
  test('pages follow each other', async () => {
    const { api, client } = await start({
      list: [
        (e) => e.json(200, listOf([configMap('a', '1')], '9', { next: 'more' })),
        (e) => e.json(200, listOf([configMap('b', '2')], '9')),
      ],
    });
    const pages = await collect(client.list(CONFIG_MAPS, { namespace: 'shop', labelSelector: 'a=b' }, { limit: 1 }));
    expect(pages.map(({ items, fresh }) => [items.map((i) => i.metadata.name), fresh])).toEqual([
      [['a'], true],
      [['b'], false],
    ]);
    expect(api.requests.map(({ query }) => String(query))).toEqual([
      'limit=1&labelSelector=a%3Db',
      'limit=1&continue=more&labelSelector=a%3Db',
    ]);
  });

  test('a forgotten position begins the listing anew, and says so', async () => {
    const { client } = await start({
      list: [
        (e) => e.json(200, listOf([configMap('a', '1')], '9', { next: 'more' })),
        (e) => e.status(410, 'Expired'),
        (e) => e.json(200, listOf([configMap('a', '1'), configMap('b', '12')], '12')),
      ],
    });
    const pages = await collect(client.list(CONFIG_MAPS, {}));
    expect(pages.map(({ resourceVersion, fresh }) => [resourceVersion, fresh])).toEqual([
      ['9', true],
      ['12', true],
    ]);
  });

  test('a position that is always forgotten is a failure, not an endless listing', async () => {
    const { client } = await start((e) =>
      e.query.has('continue') ? e.status(410, 'Expired') : e.json(200, listOf([], '9', { next: 'more' })),
    );
    await expect(collect(client.list(CONFIG_MAPS, {}))).rejects.toMatchObject({ status: 410 });
  });

  test('metadata only: asked for by media type, told by the answer', async () => {
    const { api, client } = await start({
      list: [
        (e) => e.json(200, listOf([], '9', { kind: 'PartialObjectMetadataList' })),
        (e) => e.json(200, listOf([], '9', { kind: 'SecretList' })),
      ],
    });
    expect((await collect(client.list(SECRETS, {}, { metadataOnly: true })))[0]?.full).toBe(false);
    expect((await collect(client.list(SECRETS, {}, { metadataOnly: true })))[0]?.full).toBe(true);
    expect(api.requests[0]?.headers.accept).toContain('as=PartialObjectMetadataList');
  });

  test.each([
    ['PartialObjectMetadataList', ['500', '500', '1000', '2000']],
    ['SecretList', ['500', '500', '500', '500']],
  ])('pages of metadata grow with the list, pages of whole objects do not: %s', async (kind, limits) => {
    const page = (count: number, next = '') =>
      listOf(Array(count).fill({ metadata: { name: 'a', resourceVersion: '1' } }), '9', { kind, next });
    const { api, client } = await start({
      list: [
        (e) => e.json(200, page(20_000, 'a')),
        (e) => e.json(200, page(20_000, 'b')),
        (e) => e.json(200, page(60_000, 'c')),
        (e) => e.json(200, page(1)),
      ],
    });
    await collect(client.list(SECRETS, {}, { metadataOnly: true }));
    expect(api.requests.map(({ query }) => query.get('limit'))).toEqual(limits);
  });

  test('a page that is too large is asked for again in smaller ones', async () => {
    const { api, client } = await start({
      list: [
        (e) => e.json(200, listOf([configMap('a', '1', { x: 'x'.repeat(65 * 1024 * 1024) })], '9')),
        (e) => e.json(200, listOf([configMap('a', '1')], '9')),
      ],
    });
    await collect(client.list(CONFIG_MAPS, {}));
    expect(api.requests.map(({ query }) => query.get('limit'))).toEqual(['500', '63']);
  });

  test.each([
    ['an empty object', {}],
    ['null', null],
    ['items without names', { metadata: { resourceVersion: '1' }, items: [{}] }],
    ['a list without a version', { metadata: {}, items: [] }],
  ])('%s is not an empty list', async (_, body) => {
    const { client } = await start({ list: [(e) => e.json(200, body)] });
    await expect(collect(client.list(CONFIG_MAPS, {}))).rejects.toMatchObject({ reason: 'BadAnswer' });
  });
});

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
    const api = await scriptedApi((e) =>
      e.headers.authorization === 'Bearer new' ? e.json(200, {}) : e.status(401, 'Unauthorized'),
    );
    const asked: boolean[] = [];
    const authorization = (refused = false) => {
      asked.push(refused);
      return refused ? 'Bearer new' : 'Bearer old';
    };
    const client = new KubeClient({ ...api.connection, authorization });
    open.push({ client, api });
    await client.get(CONFIG_MAPS, { name: 'a' });
    expect(asked).toEqual([false, true]);
  });
});

describe('watch', () => {
  const stop = new AbortController();
  const watch = (client: KubeClient) => client.watch(CONFIG_MAPS, { namespace: 'shop' }, '5', stop.signal);

  test('events as they come, wherever the network cuts them', async () => {
    const lines = ['ADDED', 'MODIFIED', 'DELETED'].map(
      (type, i) => `${JSON.stringify({ type, object: configMap('ü', String(i + 6)) })}\n`,
    );
    const bytes = Buffer.from(lines.join(''));
    const { api, client } = await start({
      watch: [
        async (e) => {
          for (let i = 0; i < bytes.length; i += 7) await e.write(bytes.subarray(i, i + 7));
          e.end();
        },
      ],
    });
    const events = await collect(watch(client));
    expect(events.map((e) => [e.type, e.object.metadata.name, e.object.metadata.resourceVersion])).toEqual([
      ['ADDED', 'ü', '6'],
      ['MODIFIED', 'ü', '7'],
      ['DELETED', 'ü', '8'],
    ]);
    expect(api.requests[0]?.path).toBe('/api/v1/namespaces/shop/configmaps');
    expect(Object.fromEntries(api.requests[0]?.query ?? [])).toMatchObject({
      watch: '1',
      allowWatchBookmarks: 'true',
      resourceVersion: '5',
    });
  });

  test('ERROR is thrown as what it says', async () => {
    const { client } = await start({
      watch: [(e) => e.event('ERROR', { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' })],
    });
    await expect(collect(watch(client))).rejects.toMatchObject({ status: 410, reason: 'Expired', verb: 'watch' });
  });

  test.each([
    ['no JSON', 'nonsense\n'],
    ['an unknown type', '{"type":"SPLIT","object":{"metadata":{"name":"a","resourceVersion":"1"}}}\n'],
    ['an event without an object', '{"type":"ADDED"}\n'],
    ['null', 'null\n'],
  ])('a line that is no event is a failure: %s', async (_, line) => {
    const { client } = await start({ watch: [(e) => e.write(line)] });
    await expect(collect(watch(client))).rejects.toMatchObject({ reason: 'BadAnswer' });
  });

  test('a line of 100 MB is refused before it is held', async () => {
    let sent = 0;
    const { client } = await start({
      watch: [
        async (e) => {
          const piece = Buffer.alloc(1024 * 1024, 'x');
          for (; sent < 100; sent += 1) await e.write(piece);
        },
      ],
    });
    await expect(collect(watch(client))).rejects.toMatchObject({ reason: 'TooLarge' });
    expect(sent).toBeLessThan(60);
  });

  test('a half-open connection is found by its silence', async () => {
    const { client } = await start({ watch: [(e) => e.event('ADDED', configMap('a', '6'))] }, { watchIdleMs: 100 });
    const seen: string[] = [];
    const watching = (async () => {
      for await (const event of watch(client)) seen.push(event.object.metadata.name);
    })();
    await expect(watching).rejects.toMatchObject({ reason: 'Silent' });
    expect(seen).toEqual(['a']);
  });

  test('a cut connection is a failure, an ended answer is the end', async () => {
    const { client } = await start({
      watch: [(e) => void e.event('ADDED', configMap('a', '6')).then(() => e.cut()), (e) => e.end()],
    });
    await expect(collect(watch(client))).rejects.toMatchObject({ reason: 'Unreachable' });
    expect(await collect(watch(client))).toEqual([]);
  });

  test('who stops reading, or calls off, leaves no connection behind', async () => {
    const { api, client } = await start({ watch: [(e) => e.event('ADDED', configMap('a', '6'))] });
    for await (const _ of watch(client)) break;
    await eventually(() => api.requests[0]?.closed).toBe(true);
    const call = new AbortController();
    const reason = new Error('enough');
    const watching = (async () => {
      for await (const _ of client.watch(CONFIG_MAPS, {}, '5', call.signal)) call.abort(reason);
    })();
    await expect(watching).rejects.toBe(reason);
    await eventually(() => api.requests[1]?.closed).toBe(true);
  });
});

describe('through an agent, as proxies need it', () => {
  async function through(script: Parameters<typeof scriptedApi>[0], options: ClientOptions = {}) {
    const api = await scriptedApi(script);
    const client = new KubeClient({ ...api.connection, agent: new Agent({ keepAlive: true }) }, options);
    open.push({ client, api });
    return { api, client };
  }

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

describe('discover', () => {
  test('the kinds of all versions of a group', async () => {
    const { client } = await start((e) => {
      if (e.path === '/apis/argoproj.io') e.json(200, { versions: [{ version: 'v1alpha1' }] });
      else
        e.json(200, {
          resources: [
            { name: 'rollouts', kind: 'Rollout' },
            { name: 'rollouts/status', kind: 'Rollout' },
          ],
        });
    });
    expect(await client.discover('argoproj.io')).toEqual([
      { version: 'v1alpha1', plural: 'rollouts', kind: 'Rollout' },
    ]);
  });

  test('nothing where the group does not exist, a failure where we do not know', async () => {
    const { client } = await start({ list: [(e) => e.status(404, 'NotFound'), (e) => e.status(500, 'InternalError')] });
    expect(await client.discover('argoproj.io')).toEqual([]);
    await expect(client.discover('argoproj.io')).rejects.toMatchObject({ status: 500 });
  });
});
