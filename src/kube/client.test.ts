import { describe, expect, test } from 'vitest';
import { configMap, listOf } from '../../test/support/scripted-api.ts';
import { startClient as start } from '../../test/support/scripted-client.ts';
import { CONFIG_MAPS, NAMESPACES, SECRETS } from '../api/resources.ts';
import { KubeClient } from './client.ts';

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

describe('data of Secrets', () => {
  const secret = { ...configMap('db', '1'), data: { pin: 'MTIzNA==' } };
  type Read = { readonly data: { readonly pin: Buffer } };

  test('are bytes while they are in hand, and gone afterwards: read', async () => {
    const { client } = await start((e) => e.json(200, secret));
    let kept: Buffer | undefined;
    await client.read<Read>(SECRETS, { namespace: 'shop', name: 'db' }, ({ data }) => {
      expect(String(data.pin)).toBe('1234');
      kept = data.pin;
    });
    expect(kept).toEqual(Buffer.alloc(4));
  });

  test('the same, listed', async () => {
    const { client } = await start((e) => e.json(200, listOf([secret], '9')));
    const kept: Buffer[] = [];
    for await (const { items } of client.list<Read>(SECRETS, {})) {
      for (const { data } of items) {
        expect(String(data.pin)).toBe('1234');
        kept.push(data.pin);
      }
    }
    expect(kept).toEqual([Buffer.alloc(4)]);
  });

  test('the same, watched', async () => {
    const { client } = await start(async (e) => {
      await e.event('ADDED', secret);
      e.end();
    });
    const kept: Buffer[] = [];
    for await (const { object } of client.watch(SECRETS, {}, '1', new AbortController())) {
      const { pin } = (object as unknown as Read).data;
      expect(String(pin)).toBe('1234');
      kept.push(pin);
    }
    expect(kept).toEqual([Buffer.alloc(4)]);
  });

  test('of our own Secrets are texts, as those of everything else', async () => {
    const { client } = await start((e) => e.json(200, secret));
    expect(await client.get(SECRETS, { name: 'db' })).toEqual(secret);
    await client.read(CONFIG_MAPS, { name: 'db' }, (object) => expect(object).toEqual(secret));
  });
});
