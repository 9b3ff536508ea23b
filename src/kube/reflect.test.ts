import { afterEach, describe, expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { type Answer, configMap, listOf, type ScriptedApi, scriptedApi } from '../../test/support/scripted-api.ts';
import { virtualClock } from '../../test/support/virtual-clock.ts';
import type { DataObject, KubeObject } from '../api/objects.ts';
import { CONFIG_MAPS } from '../api/resources.ts';
import { KubeClient } from './client.ts';
import { type ReflectEvent, type ReflectOptions, Reflector } from './reflect.ts';

const cleanUp: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const clean of cleanUp.splice(0).reverse()) await clean();
});

const value = (source: KubeObject) => (source as DataObject).data?.['value'] ?? '?';

/** A reflector at work on a script, and everything it told so far, one short line per event. */
async function start(
  script: Parameters<typeof scriptedApi>[0],
  options: Partial<ReflectOptions<string>> & { readonly watchIdleMs?: number } = {},
) {
  const api: ScriptedApi = await scriptedApi(script);
  const client = new KubeClient(api.connection, { watchIdleMs: options.watchIdleMs });
  const stop = new AbortController();
  const told: string[] = [];
  const events: ReflectEvent<string>[] = [];
  const reflector = new Reflector<string>(
    client,
    CONFIG_MAPS,
    { namespace: 'shop' },
    {
      digest: value,
      random: () => 0,
      ...options,
    },
  );
  const running = reflector.run(stop.signal, (event) => {
    events.push(event);
    told.push(describeEvent(event));
  });
  cleanUp.push(
    () => api[Symbol.asyncDispose](),
    () => client.close(),
    () => running,
    () => stop.abort(),
  );
  const untilTold = (line: string) => eventually(() => told).toContain(line);
  return { api, client, reflector, stop, running, told, events, untilTold };
}

function describeEvent(event: ReflectEvent<string>): string {
  switch (event.type) {
    case 'add':
    case 'change':
      return `${event.type} ${event.key} ${event.previous ?? ''}→${event.value}${event.initial ? ' listed' : ''}`;
    case 'remove':
      return `remove ${event.key} ${event.previous}`;
    case 'synced':
      return `synced ${event.resourceVersion}`;
    case 'unwatchable':
      return 'unwatchable';
    case 'unavailable':
      return `unavailable ${event.error.message}`;
  }
}

const object = (name: string, version: number, text = `v${version}`) =>
  configMap(name, String(version), { value: text });
const quiet = () => {};

test('a listing, then what the watch tells, with the previous digest', async () => {
  const { told, untilTold, reflector } = await start({
    list: [(e) => e.json(200, listOf([object('a', 1), object('b', 2)], '5'))],
    watch: [
      async (e) => {
        await e.event('ADDED', object('c', 6));
        await e.event('MODIFIED', object('a', 7));
        await e.event('DELETED', object('b', 8));
        await e.event('ADDED', object('b', 9));
      },
    ],
  });
  await untilTold('add shop/b →v9');
  expect(told).toEqual([
    'add shop/a →v1 listed',
    'add shop/b →v2 listed',
    'synced 5',
    'add shop/c →v6',
    'change shop/a v1→v7',
    'remove shop/b v2',
    'add shop/b →v9',
  ]);
  expect(Object.fromEntries(reflector.values)).toEqual({ 'shop/a': 'v7', 'shop/b': 'v9', 'shop/c': 'v6' });
});

test('what an event tells is already in `values`', async () => {
  const seen: (string | undefined)[] = [];
  const api = await scriptedApi({ list: [(e) => e.json(200, listOf([object('a', 1)], '5'))], watch: [quiet] });
  const client = new KubeClient(api.connection);
  const stop = new AbortController();
  const reflector: Reflector<string> = new Reflector(client, CONFIG_MAPS, {}, { digest: value });
  await reflector.run(stop.signal, (event) => {
    if (event.type === 'add') seen.push(reflector.values.get(event.key));
    if (event.type === 'synced') stop.abort();
  });
  expect(seen).toEqual(['v1']);
  client.close();
  await api[Symbol.asyncDispose]();
});

describe('the end of a watch', () => {
  test('an ended watch goes on from the last event or bookmark, without a listing', async () => {
    const { api, untilTold } = await start({
      list: [(e) => e.json(200, listOf([], '5'))],
      watch: [
        (e) => void e.event('ADDED', object('a', 6)).then(() => e.end()),
        (e) => void e.event('BOOKMARK', { metadata: { resourceVersion: '90' } }).then(() => e.end()),
        (e) => e.event('ADDED', object('b', 91)),
      ],
    });
    await untilTold('add shop/b →v91');
    expect(api.requests.map((r) => `${r.verb} ${r.query.get('resourceVersion') ?? ''}`)).toEqual([
      'list ',
      'watch 5',
      'watch 6',
      'watch 90',
    ]);
  });

  test('a cut connection and a half-open one go on from the last event', async () => {
    const { api, untilTold } = await start(
      {
        list: [(e) => e.json(200, listOf([], '5'))],
        watch: [
          (e) => void e.write('{"type":"ADDED","object":{"meta').then(() => e.cut()),
          (e) => e.event('ADDED', object('a', 6)),
          (e) => e.event('ADDED', object('b', 7)),
        ],
      },
      { watchIdleMs: 100 },
    );
    await untilTold('add shop/b →v7');
    expect(api.requests.map((r) => r.verb).filter((verb) => verb === 'list')).toHaveLength(1);
    expect(api.requests.map((r) => r.query.get('resourceVersion')).slice(0, 4)).toEqual([null, '5', '5', '6']);
  });

  test.each([
    ['by its status', (e) => e.status(410, 'Expired')],
    ['by an ERROR event', (e) => e.event('ERROR', { kind: 'Status', code: 410, reason: 'Expired' })],
  ] as const satisfies readonly [string, Answer][])(
    'a forgotten position (%s) leads to a new listing, not to a lost deletion',
    async (_, forget) => {
      const { told, untilTold } = await start({
        list: [
          (e) => e.json(200, listOf([object('a', 1), object('b', 2), object('c', 3)], '5')),
          (e) => e.json(200, listOf([object('a', 1), object('c', 11), object('d', 12)], '20')),
        ],
        watch: [(e) => void forget(e), quiet],
      });
      await untilTold('synced 20');
      expect(told.slice(4)).toEqual([
        'change shop/c v3→v11 listed',
        'add shop/d →v12 listed',
        'remove shop/b v2',
        'synced 20',
      ]);
    },
  );

  test('an event that is too large leads to a new listing', async () => {
    const { untilTold } = await start({
      list: [(e) => e.json(200, listOf([], '5')), (e) => e.json(200, listOf([object('a', 6)], '7'))],
      watch: [(e) => e.write(Buffer.alloc(17 * 1024 * 1024, 'x')), quiet],
    });
    await untilTold('synced 7');
  });

  test('lines that cannot be read: resumed, and when that does not help, listed', async () => {
    const { api, untilTold } = await start({
      list: [(e) => e.json(200, listOf([], '5')), (e) => e.json(200, listOf([], '8'))],
      watch: [
        ...Array.from({ length: 4 }, () => (e: { write(text: string): Promise<void> }) => e.write('{"ty\n')),
        quiet,
      ],
    });
    await untilTold('synced 8');
    expect(api.requests.map((r) => r.verb).slice(0, 6)).toEqual(['list', 'watch', 'watch', 'watch', 'watch', 'list']);
  });

  test('watches that end at once are waited for', async () => {
    const clock = virtualClock();
    const { api, untilTold } = await start(
      { list: [(e) => e.json(200, listOf([], '5'))], watch: [(e) => e.end()] },
      { clock, random: () => 1 },
    );
    await untilTold('synced 5');
    await eventually(() => clock.timers).toBe(1);
    expect(api.requests).toHaveLength(2);
    clock.advance(500);
    await eventually(() => api.requests.length).toBe(3);
  });
});

describe('what is not news', () => {
  test('duplicates and late events change nothing, also for an object that is gone', async () => {
    const { told, untilTold } = await start({
      list: [(e) => e.json(200, listOf([object('a', 4)], '5'))],
      watch: [
        async (e) => {
          await e.event('ADDED', object('a', 3));
          await e.event('MODIFIED', object('a', 10));
          await e.event('MODIFIED', object('a', 10));
          await e.event('MODIFIED', object('a', 9));
          await e.event('DELETED', object('a', 8));
          await e.event('DELETED', object('a', 11));
          await e.event('MODIFIED', object('a', 10));
          await e.event('DELETED', object('a', 11));
          await e.event('ADDED', object('b', 12));
        },
      ],
    });
    await untilTold('add shop/b →v12');
    expect(told.slice(2)).toEqual(['change shop/a v4→v10', 'remove shop/a v10', 'add shop/b →v12']);
  });

  test('versions are compared as numbers, not as text', async () => {
    const { told, untilTold } = await start({
      list: [(e) => e.json(200, listOf([object('a', 9)], '9'))],
      watch: [(e) => void e.event('MODIFIED', object('a', 10)).then(() => e.event('ADDED', object('b', 100)))],
    });
    await untilTold('add shop/b →v100');
    expect(told).toContain('change shop/a v9→v10');
  });

  test('versions that are no numbers can still be equal', async () => {
    const odd = (name: string, version: string) => configMap(name, version, { value: version });
    const { told, untilTold } = await start({
      list: [(e) => e.json(200, listOf([odd('a', 'x1')], 'x9'))],
      watch: [
        async (e) => {
          await e.event('MODIFIED', odd('a', 'x1'));
          await e.event('MODIFIED', odd('a', 'x0'));
          await e.event('ADDED', odd('b', 'x2'));
        },
      ],
    });
    await untilTold('add shop/b →x2');
    expect(told).toEqual(['add shop/a →x1 listed', 'synced x9', 'change shop/a x1→x0', 'add shop/b →x2']);
  });

  test('an object that is not interesting is absent, also when it was interesting before', async () => {
    const { told, untilTold } = await start(
      {
        list: [(e) => e.json(200, listOf([object('a', 1), object('b', 2, 'no')], '5'))],
        watch: [
          async (e) => {
            await e.event('MODIFIED', object('a', 6, 'no'));
            await e.event('MODIFIED', object('b', 7, 'yes'));
          },
        ],
      },
      { digest: (o) => (value(o) === 'no' ? undefined : value(o)) },
    );
    await untilTold('add shop/b →yes');
    expect(told).toEqual(['add shop/a →v1 listed', 'synced 5', 'remove shop/a v1', 'add shop/b →yes']);
  });

  test('a server that was set back to a backup is believed', async () => {
    const { told, untilTold } = await start({
      list: [
        (e) => e.json(200, listOf([object('a', 100)], '100')),
        (e) => e.json(200, listOf([object('a', 40)], '50')),
      ],
      watch: [(e) => e.status(410, 'Expired'), (e) => e.event('MODIFIED', object('a', 51))],
    });
    await untilTold('change shop/a v40→v51');
    expect(told).toContain('change shop/a v100→v40 listed');
  });
});

describe('light listing', () => {
  const light = (name: string, version: number) => ({ metadata: object(name, version).metadata });
  const lightList = (items: readonly unknown[], version: string) =>
    listOf(items, version, { kind: 'PartialObjectMetadataList' });

  test('metadata is listed, whole objects are watched, and a listing does not lose what is known', async () => {
    const digests: [string, boolean, string | undefined][] = [];
    const { told, untilTold } = await start(
      {
        list: [
          (e) => e.json(200, lightList([light('a', 1), light('b', 2)], '5')),
          (e) => e.json(200, lightList([light('a', 6), light('b', 8)], '9')),
        ],
        watch: [
          async (e) => {
            await e.event('MODIFIED', object('a', 6));
            await e.event('MODIFIED', object('b', 7));
            await e.event('ERROR', { kind: 'Status', code: 410, reason: 'Expired' });
          },
          quiet,
        ],
      },
      {
        light: true,
        digest: (o, full, previous) => {
          digests.push([o.metadata.name, full, previous]);
          return full ? value(o) : `light ${previous ?? ''}`;
        },
      },
    );
    await untilTold('synced 9');
    expect(digests).toEqual([
      ['a', false, undefined],
      ['b', false, undefined],
      ['a', true, 'light '],
      ['b', true, 'light '],
      ['b', false, 'v7'],
    ]);
    expect(told.slice(-2)).toEqual(['change shop/b v7→light v7 listed', 'synced 9']);
  });
});

describe('paged listing', () => {
  test('a listing that begins anew in the middle removes nothing that is there', async () => {
    const { told, untilTold, reflector } = await start({
      list: [
        (e) => e.json(200, listOf([object('a', 1), object('b', 2)], '5')),
        (e) => e.json(200, listOf([object('a', 1)], '9', { next: 'more' })),
        (e) => e.status(410, 'Expired'),
        (e) => e.json(200, listOf([object('b', 2)], '12', { next: 'more' })),
        (e) => e.json(200, listOf([object('c', 11)], '12')),
      ],
      watch: [(e) => e.status(410, 'Expired'), quiet],
    });
    await untilTold('synced 12');
    expect(told.slice(3)).toEqual(['add shop/c →v11 listed', 'remove shop/a v1', 'synced 12']);
    expect([...reflector.values.keys()].sort()).toEqual(['shop/b', 'shop/c']);
  });

  test('a listing that breaks in the middle removes nothing', async () => {
    const { told, untilTold } = await start({
      list: [
        (e) => e.json(200, listOf([object('a', 1), object('b', 2)], '5')),
        (e) => e.json(200, listOf([object('a', 6)], '9', { next: 'more' })),
        (e) => e.status(500, 'InternalError'),
        (e) => e.json(200, listOf([object('a', 6), object('b', 2)], '10')),
      ],
      watch: [(e) => e.status(410, 'Expired'), quiet],
    });
    await untilTold('synced 10');
    expect(told.slice(3)).toEqual(['change shop/a v1→v6 listed', 'synced 10']);
  });
});

describe('less than everything', () => {
  test('a kind that must not be watched says so once, and refresh keeps it up to date', async () => {
    const { api, told, untilTold, reflector } = await start({
      list: [
        (e) => e.json(200, listOf([object('a', 1)], '5')),
        (e) => e.json(200, listOf([object('a', 6)], '7')),
        (e) => e.json(200, listOf([], '9')),
      ],
      watch: [(e) => e.status(403, 'Forbidden')],
    });
    await untilTold('unwatchable');
    await eventually(() => reflector.watchable).toBe(false);
    await reflector.refresh();
    expect(told.slice(3)).toEqual(['change shop/a v1→v6 listed', 'synced 7']);
    await reflector.refresh();
    expect(told.slice(5)).toEqual(['remove shop/a v6', 'synced 9']);
    expect(api.requests.map((r) => r.verb)).toEqual(['list', 'watch', 'list', 'list']);
  });

  test('the right to watch may be granted later', async () => {
    const clock = virtualClock();
    const { untilTold, reflector } = await start(
      {
        list: [(e) => e.json(200, listOf([], '5'))],
        watch: [(e) => e.status(403, 'Forbidden'), (e) => e.event('ADDED', object('a', 6))],
      },
      { clock },
    );
    await untilTold('unwatchable');
    await eventually(() => clock.timers).toBe(1);
    clock.advance(300_000);
    await untilTold('add shop/a →v6');
    expect(reflector.watchable).toBe(true);
  });

  test('calls of refresh share the listing that starts next', async () => {
    const gate = Promise.withResolvers<void>();
    const { api, reflector } = await start({
      list: [
        (e) => gate.promise.then(() => e.json(200, listOf([], '5'))),
        (e) => e.json(200, listOf([], '6')),
        (e) => e.json(200, listOf([], '7')),
      ],
      watch: [(e) => e.status(403, 'Forbidden')],
    });
    await eventually(() => api.requests.length).toBe(1);
    const waiting = Promise.all([reflector.refresh(), reflector.refresh(), reflector.refresh()]);
    gate.resolve();
    await waiting;
    expect(api.requests.filter((r) => r.verb === 'list')).toHaveLength(2);
  });

  test('refresh also breaks off a watch that works, which then goes on', async () => {
    const { api, untilTold, reflector } = await start({
      list: [(e) => e.json(200, listOf([], '5')), (e) => e.json(200, listOf([object('a', 6)], '7'))],
      watch: [quiet, (e) => e.event('ADDED', object('b', 8))],
    });
    await eventually(() => api.requests.length).toBe(2);
    await reflector.refresh();
    await untilTold('add shop/b →v8');
  });

  test('refresh rejects if its listing fails, and nobody need listen', async () => {
    const { reflector, untilTold } = await start({
      list: [
        (e) => e.json(200, listOf([], '5')),
        (e) => e.status(500, 'InternalError'),
        (e) => e.json(200, listOf([], '6')),
        (e) => e.status(500, 'InternalError'),
        (e) => e.json(200, listOf([], '7')),
      ],
      watch: [(e) => e.status(403, 'Forbidden')],
    });
    await untilTold('unwatchable');
    await expect(reflector.refresh()).rejects.toMatchObject({ status: 500 });
    await reflector.refresh();
    void reflector.refresh();
    await eventually(() =>
      reflector.refresh().then(
        () => true,
        () => false,
      ),
    ).toBe(true);
    await untilTold('synced 7');
  });

  test('a kind that is missing or forbidden is said once per reason, and found when it appears', async () => {
    const { told, untilTold } = await start({
      list: [
        (e) => e.status(404, 'NotFound'),
        (e) => e.status(404, 'NotFound'),
        (e) => e.status(403, 'Forbidden', 'no right'),
        (e) => e.status(404, 'NotFound'),
        (e) => e.json(200, listOf([object('a', 1)], '5')),
      ],
      watch: [quiet],
    });
    await untilTold('synced 5');
    expect(told).toEqual([
      'unavailable list /api/v1/namespaces/shop/configmaps: 404 NotFound',
      'unavailable list /api/v1/namespaces/shop/configmaps: 403 Forbidden: no right',
      'add shop/a →v1 listed',
      'synced 5',
    ]);
  });
});

describe('patience', () => {
  test('Retry-After is kept, also when somebody asks for a listing', async () => {
    const clock = virtualClock();
    const { api, reflector } = await start(
      { list: [(e) => e.json(429, {}, { 'retry-after': '7' }), (e) => e.json(200, listOf([], '5'))], watch: [quiet] },
      { clock },
    );
    await eventually(() => clock.timers).toBe(1);
    const refreshed = reflector.refresh();
    clock.advance(6999);
    await new Promise((resolve) => setImmediate(resolve));
    expect(api.requests).toHaveLength(1);
    clock.advance(1);
    await refreshed;
    expect(api.requests.filter((r) => r.verb === 'list')).toHaveLength(2);
  });

  test('failures are told with the wait, which grows', async () => {
    const clock = virtualClock();
    const waits: [string, number][] = [];
    await start(
      { list: [(e) => e.status(500, 'InternalError')] },
      { clock, random: () => 1, retrying: (error, ms) => waits.push([error.reason, ms]) },
    );
    for (const [n, ms] of [500, 1000, 2000].entries()) {
      await eventually(() => waits.length).toBe(n + 1);
      await eventually(() => clock.timers).toBe(1);
      clock.advance(ms);
    }
    expect(waits.slice(0, 3)).toEqual([
      ['InternalError', 500],
      ['InternalError', 1000],
      ['InternalError', 2000],
    ]);
  });

  test.each(['list', 'watch', 'wait'] as const)('it can be called off while it is about to %s', async (where) => {
    const { api, stop, running, reflector } = await start({
      list: [where === 'list' ? quiet : (e) => e.json(200, listOf([], '5'))],
      watch: [where === 'wait' ? (e) => e.status(403, 'Forbidden') : quiet],
    });
    await eventually(() => api.requests.length).toBe(where === 'list' ? 1 : 2);
    stop.abort();
    await running;
    await expect(reflector.refresh()).rejects.toThrow();
  });

  test('a digest that throws is a bug, and not tried again', async () => {
    const api = await scriptedApi({ list: [(e) => e.json(200, listOf([object('a', 1)], '5'))] });
    const client = new KubeClient(api.connection);
    const bug = new TypeError('bug');
    const reflector = new Reflector(
      client,
      CONFIG_MAPS,
      {},
      {
        digest: () => {
          throw bug;
        },
      },
    );
    await expect(reflector.run(new AbortController().signal, quiet)).rejects.toBe(bug);
    client.close();
    await api[Symbol.asyncDispose]();
  });
});
