import { describe, expect, test } from 'vitest';
import { eventually } from '../../../test/support/eventually.ts';
import { type Answer, listOf } from '../../../test/support/scripted-api.ts';
import { object, quiet, startReflector as start, value } from '../../../test/support/scripted-reflector.ts';
import { systemClock } from '../../runtime/clock.ts';

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

  test('a kind that is too large to be listed is unavailable, keeps what is known, and is tried again', async () => {
    const objects = [object('a', 1), object('b', 2)];
    // As an aggregated API server that does not heed the limit.
    const tooLarge: Answer = (e) => e.json(200, { ...listOf(objects, '9'), padding: 'x'.repeat(17 * 1024 * 1024) });
    const delays: number[] = [];
    const { api, told, untilTold, reflector } = await start(
      {
        list: [
          (e) => e.json(200, listOf(objects, '5')),
          ...Array(6).fill(tooLarge),
          (e) => e.json(200, listOf([], '10')),
        ],
        watch: [(e) => e.status(410, 'Expired'), quiet],
      },
      {
        random: () => 1,
        clock: { ...systemClock, after: (_, fn) => systemClock.after(0, fn) },
        retrying: (_, delayMs) => delays.push(delayMs),
      },
    );
    await eventually(() => told.some((line) => /^unavailable .*TooLarge/.test(line))).toBe(true);
    expect([...reflector.values.keys()].sort()).toEqual(['shop/a', 'shop/b']);
    await untilTold('synced 10');
    expect(told.filter((line) => line.startsWith('unavailable'))).toHaveLength(1);
    expect(api.requests.filter(({ verb }) => verb === 'list').map(({ query }) => query.get('limit'))).toEqual([
      '16',
      ...['16', '2', '1'],
      ...['16', '2', '1'],
      '16',
    ]);
    expect(delays).toEqual([5000, 10_000]);
  });
});
