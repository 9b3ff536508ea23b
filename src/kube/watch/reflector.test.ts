import { describe, expect, test } from 'vitest';
import { eventually } from '../../../test/support/eventually.ts';
import { type Answer, configMap, listOf, scriptedApi } from '../../../test/support/scripted-api.ts';
import { object, quiet, startReflector as start, value } from '../../../test/support/scripted-reflector.ts';
import { virtualClock } from '../../../test/support/virtual-clock.ts';
import { CONFIG_MAPS } from '../../api/resources.ts';
import { KubeClient } from '../client.ts';
import { Reflector } from './reflector.ts';

const EXPIRED = { kind: 'Status', code: 410, reason: 'Expired' };

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
    ['by an ERROR event', (e) => e.event('ERROR', EXPIRED)],
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

  test('a quiet watch that is cut after a while is opened again soon, however often that happens', async () => {
    const clock = virtualClock();
    const waits: number[] = [];
    const { api } = await start(
      { list: [(e) => e.json(200, listOf([], '5'))], watch: [(e) => e.write('\n')] },
      { clock, random: () => 1, retrying: (_, ms) => waits.push(ms) },
    );
    for (let n = 1; n <= 3; n += 1) {
      await eventually(() => api.requests.length).toBe(n + 1);
      clock.advance(60_000);
      api.requests[n]?.cut();
      await eventually(() => clock.timers).toBe(1);
      clock.advance(500);
    }
    expect(waits).toEqual([500, 500, 500]);
  });

  test('watches that are cut at once are waited for longer and longer', async () => {
    const clock = virtualClock();
    const waits: number[] = [];
    await start(
      { list: [(e) => e.json(200, listOf([], '5'))], watch: [(e) => e.cut()] },
      { clock, random: () => 1, retrying: (_, ms) => waits.push(ms) },
    );
    for (const ms of [500, 1000]) {
      await eventually(() => clock.timers).toBe(1);
      clock.advance(ms);
    }
    await eventually(() => waits).toEqual([500, 1000, 2000]);
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
