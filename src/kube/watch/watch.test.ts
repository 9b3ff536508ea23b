import { describe, expect, test } from 'vitest';
import { eventually } from '../../../test/support/eventually.ts';
import { configMap } from '../../../test/support/scripted-api.ts';
import { collect, startClient as start } from '../../../test/support/scripted-client.ts';
import { virtualClock } from '../../../test/support/virtual-clock.ts';
import { CONFIG_MAPS } from '../../api/resources.ts';
import type { KubeClient } from '../client.ts';
import { KubeError } from '../kube-error.ts';
import { Exchange } from '../wire/exchange.ts';
import type { Transport } from '../wire/transport.ts';
import { Turns } from '../wire/turns.ts';
import { watchEvents } from './watch.ts';

describe('watch', () => {
  const stop = new AbortController();
  const watch = (client: KubeClient) => client.watch(CONFIG_MAPS, { namespace: 'shop' }, '5', stop);

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
    const seen: unknown[] = [];
    for await (const { type, object } of watch(client))
      seen.push([type, object.metadata.name, object.metadata.resourceVersion]);
    expect(seen).toEqual([
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

  test('while the next event is waited for, the object of the last one is not kept', async () => {
    const { client } = await start({
      watch: [
        async (e) => {
          await e.event('ADDED', configMap('a', '6', { large: 'x'.repeat(1_000_000) }));
          await e.event('BOOKMARK', configMap('', '7'));
          e.end();
        },
      ],
    });
    const events = await collect(watch(client));
    expect(events).toEqual([{ type: 'ADDED' }, { type: 'BOOKMARK' }]);
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
    const { client } = await start({ watch: [(e) => e.event('ADDED', configMap('a', '6'))] }, { watchIdleMs: 1000 });
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
      for await (const _ of client.watch(CONFIG_MAPS, {}, '5', call)) call.abort(reason);
    })();
    await expect(watching).rejects.toBe(reason);
    await eventually(() => api.requests[1]?.closed).toBe(true);
  });
});

describe('large events', () => {
  const MIB = 1024 * 1024;
  const PIECE = MIB / 4;

  /** Watches of one client, whose events arrive as the test sends them. */
  function watches(count: number) {
    const clock = virtualClock();
    const common = { clock, idleMs: 30_000, largeAnswers: new Turns(2) };
    const call = { verb: 'watch', path: '/', resource: 'configmaps' } as const;
    const all = Array.from({ length: count }, (_, n) => {
      const exchange = new Exchange({ method: 'GET', path: '/', headers: {}, body: undefined }, 1000, 1000);
      const watch = { exchange, held: 0, isPaused: false, outcome: '' };
      exchange.assign(
        {
          pause: () => {
            watch.isPaused = true;
          },
          resume: () => {
            watch.isPaused = false;
          },
          destroy: () => {},
        },
        false,
      );
      exchange.begin(200, undefined, undefined);
      const read = async (): Promise<void> => {
        const transport = { ...common, open: async () => exchange } as unknown as Transport;
        for await (const { object } of watchEvents(transport, call)) {
          watch.outcome = object.metadata.name;
          watch.held = 0;
        }
      };
      const over = read().catch((error: KubeError) => {
        watch.outcome = error.reason;
        watch.held = 0;
      });
      const event = Buffer.from(
        `${JSON.stringify({ type: 'ADDED', object: configMap(`w${n}`, '6', { large: 'x'.repeat(8 * MIB) }) })}\n`,
      );
      let sent = 0;
      const send = () => {
        const piece = Buffer.from(event.subarray(sent, sent + PIECE));
        sent += piece.length;
        watch.held += piece.length;
        exchange.push(piece);
        if (sent >= event.length) exchange.complete();
      };
      return Object.assign(watch, { send, over });
    });
    return { clock, all };
  }
  const settle = () => new Promise((resolve) => setImmediate(resolve));

  test('however many come at once, no more than two are held beyond their first MiBs', async () => {
    const { all } = watches(16);
    let most = 0;
    for (let open = all; open.length > 0; open = all.filter(({ exchange }) => !exchange.isOver)) {
      const ready = open.filter(({ isPaused }) => !isPaused);
      expect(ready).not.toEqual([]);
      for (const { send } of ready) send();
      most = Math.max(
        most,
        all.reduce((sum, { held }) => sum + held, 0),
      );
      await settle();
    }
    await Promise.all(all.map(({ over }) => over));
    expect(all.map(({ outcome }) => outcome)).toEqual(all.map((_, n) => `w${n}`));
    // One MiB of the event, and another that waits in the connection.
    expect(most).toBeLessThanOrEqual(14 * (2 * MIB + 2 * PIECE) + 2 * 9 * MIB);
  });

  test('one that stops in the middle fails, and lets the others go on', async () => {
    const { clock, all } = watches(3);
    const [, , last] = all;
    for (let pieces = 0; pieces < 12; pieces += 1) {
      for (const { isPaused, send } of all) if (!isPaused) send();
      await settle();
    }
    expect(last?.isPaused).toBe(true);
    clock.advance(30_000);
    for (let pieces = 0; pieces < 40; pieces += 1) {
      if (last && !last.exchange.isOver && !last.isPaused) last.send();
      await settle();
    }
    expect(all.map(({ outcome }) => outcome)).toEqual(['Silent', 'Silent', 'w2']);
  });

  test('one that is called off while it waits for its turn is over at once', async () => {
    const { all } = watches(3);
    for (let pieces = 0; pieces < 12; pieces += 1) {
      for (const { isPaused, send } of all) if (!isPaused) send();
      await settle();
    }
    all[2]?.exchange.fail(new KubeError({ verb: 'watch', path: '/', status: 0, reason: 'Enough' }));
    await all[2]?.over;
    expect(all[2]?.outcome).toBe('Enough');
  });
});
