import { describe, expect, test } from 'vitest';
import { eventually } from '../../../test/support/eventually.ts';
import { type Answer, configMap, listOf } from '../../../test/support/scripted-api.ts';
import { collect, startClient as start } from '../../../test/support/scripted-client.ts';
import { virtualClock } from '../../../test/support/virtual-clock.ts';
import { CONFIG_MAPS, SECRETS } from '../../api/resources.ts';
import type { ListOptions } from './listing.ts';

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

  const paged = (putOff: Answer): Answer[] => [
    (e) => e.json(200, listOf([configMap('a', '1')], '9', { next: 'more' })),
    putOff,
    (e) => e.json(200, listOf([configMap('b', '2')], '9')),
  ];

  test.each([429, 503])(
    'a page that is put off (%i) is asked for again when the server said, and no page before it',
    async (status) => {
      const clock = virtualClock();
      const { api, client } = await start(
        { list: paged((e) => e.json(status, {}, { 'retry-after': '7' })) },
        { clock },
      );
      const told: [number, number, number][] = [];
      const retrying: ListOptions['retrying'] = (error, ...how) => told.push([error.status, ...how]);
      const listing = collect(client.list(CONFIG_MAPS, {}, { retrying }));
      await eventually(() => clock.timers).toBe(1);
      clock.advance(6999);
      expect(clock.timers).toBe(1);
      clock.advance(1);
      expect((await listing).map(({ items, fresh }) => [items[0]?.metadata.name, fresh])).toEqual([
        ['a', true],
        ['b', false],
      ]);
      expect(api.requests.map(({ query }) => query.get('continue'))).toEqual([null, 'more', 'more']);
      expect(told).toEqual([[status, 7000, 1]]);
    },
  );

  test('a page that is always put off is a failure, not an endless listing', async () => {
    const clock = virtualClock();
    const { api, client } = await start(
      (e) => (e.query.has('continue') ? e.status(429, 'Busy') : e.json(200, listOf([], '9', { next: 'more' }))),
      { clock },
    );
    let isOver = false;
    const listing = expect(collect(client.list(CONFIG_MAPS, {})))
      .rejects.toMatchObject({ status: 429 })
      .finally(() => {
        isOver = true;
      });
    await eventually(() => {
      clock.advance(10_000);
      return isOver;
    }).toBe(true);
    await listing;
    expect(api.requests).toHaveLength(12);
  });

  test('nobody waits for a page any more when the listing is called off', async () => {
    const clock = virtualClock();
    const { api, client } = await start({ list: paged((e) => e.json(429, {}, { 'retry-after': '7' })) }, { clock });
    const stop = new AbortController();
    const reason = new Error('enough');
    const listing = expect(collect(client.list(CONFIG_MAPS, {}, stop))).rejects.toBe(reason);
    await eventually(() => clock.timers).toBe(1);
    stop.abort(reason);
    await listing;
    expect(clock.timers).toBe(0);
    expect(api.requests).toHaveLength(2);
  });

  test.each([429, 503])('the first page is not waited for: its caller knows better (%i)', async (status) => {
    const { api, client } = await start({ list: [(e) => e.json(status, {}, { 'retry-after': '7' })] });
    await expect(collect(client.list(CONFIG_MAPS, {}))).rejects.toMatchObject({ status, retryAfterMs: 7000 });
    expect(api.requests).toHaveLength(1);
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
