import { describe, expect, test } from 'vitest';
import { eventually } from '../../../test/support/eventually.ts';
import { type Answer, configMap, listOf, type ScriptedApi } from '../../../test/support/scripted-api.ts';
import { collect, startClient as start } from '../../../test/support/scripted-client.ts';
import { virtualClock } from '../../../test/support/virtual-clock.ts';
import type { KubeObject } from '../../api/objects.ts';
import { CONFIG_MAPS, SECRETS } from '../../api/resources.ts';
import type { ListOptions, ListPage } from './listing.ts';

/** The names on each page, and whether it is a first one. */
async function namesIn(pages: AsyncIterable<ListPage<KubeObject>>) {
  const found: [names: string[], fresh: boolean][] = [];
  for await (const { items, fresh } of pages) found.push([items.map(({ metadata }) => metadata.name), fresh]);
  return found;
}

describe('list', () => {
  test('pages follow each other', async () => {
    const { api, client } = await start({
      list: [
        (e) => e.json(200, listOf([configMap('a', '1')], '9', { next: 'more' })),
        (e) => e.json(200, listOf([configMap('b', '2')], '9')),
      ],
    });
    const pages = await namesIn(client.list(CONFIG_MAPS, { namespace: 'shop', labelSelector: 'a=b' }, { limit: 1 }));
    expect(pages).toEqual([
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

  test.each([
    ['empty pages', []],
    ['the same page', [configMap('a', '1')]],
  ])('a server that sends %s and the same position is a failure, not an endless listing', async (_, items) => {
    const { api, client } = await start((e) => e.json(200, listOf(items, '9', { next: 'more' })));
    await expect(collect(client.list(CONFIG_MAPS, {}))).rejects.toMatchObject({ reason: 'BadAnswer' });
    expect(api.requests).toHaveLength(2);
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
      const listing = namesIn(client.list(CONFIG_MAPS, {}, { retrying }));
      await eventually(() => clock.timers).toBe(1);
      clock.advance(6999);
      expect(clock.timers).toBe(1);
      clock.advance(1);
      expect(await listing).toEqual([
        [['a'], true],
        [['b'], false],
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
    ['PartialObjectMetadataList', ['16', '1000', '1000']],
    ['SecretList', ['16', '500', '500']],
  ])('pages of metadata may have more objects than others: %s', async (kind, limits) => {
    const page = (count: number, next = '') =>
      listOf(Array(count).fill({ metadata: { name: 'a', resourceVersion: '1' } }), '9', { kind, next });
    const { api, client } = await start({
      list: [(e) => e.json(200, page(16, 'a')), (e) => e.json(200, page(500, 'b')), (e) => e.json(200, page(1))],
    });
    await collect(client.list(SECRETS, {}, { metadataOnly: true }));
    expect(api.requests.map(({ query }) => query.get('limit'))).toEqual(limits);
  });

  /** A server with so many objects of so many bytes, which sends as many as it is asked for. */
  const storing = (sizes: readonly number[], kind?: string): Answer => {
    const objects = sizes.map((bytes, at) => configMap(`cm-${at}`, '1', { x: 'x'.repeat(bytes) }));
    return (e) => {
      const from = Number(e.query.get('continue') ?? 0);
      const to = from + Number(e.query.get('limit'));
      const next = to < objects.length ? String(to) : '';
      e.json(200, listOf(objects.slice(from, to), '9', { next, ...(kind && { kind }) }));
    };
  };
  const MIB = 1024 * 1024;
  const asked = (api: ScriptedApi) =>
    api.requests.map(({ query }) => `${query.get('continue') ?? 0}+${query.get('limit')}`);

  test.each(['List', 'PartialObjectMetadataList'])(
    'a page over 8 MiB is broken off and asked for again in smaller ones, from the same place: %s',
    async (kind) => {
      const { api, client } = await start(storing(Array(20).fill(MIB), kind));
      const pages = await namesIn(client.list(CONFIG_MAPS, {}));
      expect(pages.flatMap(([names]) => names)).toEqual(Array.from({ length: 20 }, (_, at) => `cm-${at}`));
      // The first is broken off; from then on two should not be over 2 MiB, and are by a little.
      expect(asked(api)).toEqual(['0+16', '0+2', ...Array.from({ length: 18 }, (_, at) => `${at + 2}+1`)]);
    },
  );

  test('what follows large objects is listed in larger pages again', async () => {
    const { api, client } = await start(storing([...Array(10).fill(MIB), ...Array(600).fill(100)]));
    await collect(client.list(CONFIG_MAPS, {}));
    const large = Array.from({ length: 8 }, (_, at) => `${at + 2}+1`);
    const grown = ['10+1', '11+2', '13+4', '17+8', '25+16', '41+32', '73+64', '137+128', '265+256', '521+500'];
    expect(asked(api)).toEqual(['0+16', '0+2', ...large, ...grown]);
  });

  test('an object that no page has room for is listed by itself: it must not keep its kind from everybody', async () => {
    const { api, client } = await start(storing([1, 9 * MIB, 1]));
    expect((await namesIn(client.list(CONFIG_MAPS, {}))).flatMap(([names]) => names)).toEqual(['cm-0', 'cm-1', 'cm-2']);
    expect(asked(api)).toEqual(['0+16', '0+2', '0+1', '1+2', '1+1', '2+1']);
  });

  test('where the server does not heed the limit, the listing is a failure and not a list without end', async () => {
    const { api, client } = await start((e) =>
      e.json(200, listOf(Array(17).fill(configMap('a', '1', { x: 'x'.repeat(MIB) })), '9')),
    );
    await expect(collect(client.list(CONFIG_MAPS, {}))).rejects.toMatchObject({ reason: 'TooLarge' });
    expect(asked(api)).toEqual(['0+16', '0+2', '0+1']);
  });

  test('while the next page is waited for, the objects of the last one are not kept', async () => {
    const { client } = await start(storing(Array(20).fill(100)));
    expect((await collect(client.list(CONFIG_MAPS, {}))).map(({ items }) => items.length)).toEqual([0, 0]);
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
