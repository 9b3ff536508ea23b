import { describe, expect, test } from 'vitest';
import { eventually } from '../../../test/support/eventually.ts';
import { type Answer, listOf, scriptedApi } from '../../../test/support/scripted-api.ts';
import { object, quiet, startReflector as start } from '../../../test/support/scripted-reflector.ts';
import { virtualClock } from '../../../test/support/virtual-clock.ts';
import { CONFIG_MAPS } from '../../api/resources.ts';
import { KubeClient } from '../client.ts';
import { Reflector } from './reflector.ts';

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
    expect(api.requests.map((r) => r.verb)).toEqual(['list', ...Array(6).fill('watch'), 'list', 'list']);
  });

  test('a server that refuses a watch and allows it a moment later costs that moment, and is not complained of', async () => {
    const clock = virtualClock();
    const { told, untilTold, reflector } = await start(
      {
        list: [(e) => e.json(200, listOf([], '5'))],
        watch: [
          (e) => e.status(403, 'Forbidden'),
          (e) => e.status(405, 'MethodNotAllowed'),
          (e) => e.event('ADDED', object('a', 6)),
        ],
      },
      { clock, random: () => 1 },
    );
    for (const ms of [500, 1000]) {
      await eventually(() => clock.timers).toBe(1);
      expect(reflector.watchable).toBe(false);
      clock.advance(ms);
    }
    await untilTold('add shop/a →v6');
    expect(told).toEqual(['synced 5', 'add shop/a →v6']);
    expect(reflector.watchable).toBe(true);
  });

  test('while it is not settled whether a kind may be watched, refresh lists, and no watch is tried for that', async () => {
    const clock = virtualClock();
    const { api, told, reflector } = await start(
      {
        list: [(e) => e.json(200, listOf([], '5')), (e) => e.json(200, listOf([object('a', 6)], '7'))],
        watch: [(e) => e.status(403, 'Forbidden')],
      },
      { clock, random: () => 1 },
    );
    await eventually(() => clock.timers).toBe(1);
    await reflector.refresh();
    expect(told).toEqual(['synced 5', 'add shop/a →v6 listed', 'synced 7']);
    await eventually(() => clock.timers).toBe(1);
    expect(api.requests.map((r) => r.verb)).toEqual(['list', 'watch', 'list']);
  });

  test('a listing that is refused is tried again with the waits of any failure', async () => {
    const clock = virtualClock();
    const waits: number[] = [];
    const { untilTold } = await start(
      {
        list: [
          (e) => e.status(403, 'Forbidden'),
          (e) => e.status(403, 'Forbidden'),
          (e) => e.json(200, listOf([], '5')),
        ],
        watch: [quiet],
      },
      { clock, random: () => 1, retrying: (_, ms) => waits.push(ms) },
    );
    for (const ms of [500, 1000]) {
      await eventually(() => clock.timers).toBe(1);
      clock.advance(ms);
    }
    await untilTold('synced 5');
    expect(waits).toEqual([500, 1000]);
  });

  test('the right to watch may be granted later', async () => {
    const clock = virtualClock();
    const { untilTold, reflector } = await start(
      {
        list: [(e) => e.json(200, listOf([], '5'))],
        watch: [
          ...Array.from({ length: 6 }, (): Answer => (e) => e.status(403, 'Forbidden')),
          (e) => e.event('ADDED', object('a', 6)),
        ],
      },
      { clock },
    );
    await untilTold('unwatchable');
    await eventually(() => clock.timers).toBe(1);
    clock.advance(300_000);
    await untilTold('add shop/a →v6');
    expect(reflector.watchable).toBe(true);
  });

  test('what may neither be watched nor listed any more is listed as soon as it may be, and watched at once', async () => {
    const { told, untilTold, reflector } = await start({
      list: [
        (e) => e.json(200, listOf([object('a', 1)], '5')),
        (e) => e.status(403, 'Forbidden'),
        (e) => e.status(403, 'Forbidden'),
        (e) => e.json(200, listOf([object('a', 6)], '7')),
      ],
      watch: [
        ...Array.from({ length: 6 }, (): Answer => (e) => e.status(403, 'Forbidden')),
        (e) => e.event('ADDED', object('b', 8)),
      ],
    });
    await untilTold('unwatchable');
    await expect(reflector.refresh()).rejects.toMatchObject({ status: 403 });
    await untilTold('add shop/b →v8');
    expect(told.slice(3)).toEqual([
      'unavailable list /api/v1/namespaces/shop/configmaps: 403 Forbidden',
      'change shop/a v1→v6 listed',
      'synced 7',
      'add shop/b →v8',
    ]);
    expect(reflector.watchable).toBe(true);
  });

  test('that a watch is taken up is told before anything happens there', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    await start({ list: [(e) => e.json(200, listOf([], '5'))], watch: [(e) => e.write('')] }, { watching: resolve });
    await promise;
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

  test.each([
    ['InternalError', 500, [500, 1000, 2000, 4000]],
    ['Unauthorized', 401, [1000, 2000, 2000, 2000]],
  ])('failures are told with the wait, which grows: %s', async (reason, status, expected) => {
    const clock = virtualClock();
    const waits: [string, number, number][] = [];
    await start(
      { list: [(e) => e.status(status, reason)] },
      { clock, random: () => 1, retrying: (error, ...how) => waits.push([error.reason, ...how]) },
    );
    for (const [n, ms] of expected.entries()) {
      await eventually(() => waits.length).toBe(n + 1);
      await eventually(() => clock.timers).toBe(1);
      clock.advance(ms);
    }
    expect(waits.slice(0, 4)).toEqual(expected.map((ms, n) => [reason, ms, n + 1]));
  });

  test.each(['list', 'watch', 'wait'] as const)('it can be called off while it is about to %s', async (where) => {
    const { api, stop, running, reflector } = await start(
      {
        list: [where === 'list' ? quiet : (e) => e.json(200, listOf([], '5'))],
        watch: [where === 'wait' ? (e) => e.status(403, 'Forbidden') : quiet],
      },
      { clock: virtualClock(), random: () => 1 },
    );
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
