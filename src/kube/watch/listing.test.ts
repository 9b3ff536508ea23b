import { describe, expect, test } from 'vitest';
import { configMap, listOf } from '../../../test/support/scripted-api.ts';
import { collect, startClient as start } from '../../../test/support/scripted-client.ts';
import { CONFIG_MAPS, SECRETS } from '../../api/resources.ts';

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
