import { describe, expect, test } from 'vitest';
import { eventually } from '../../../test/support/eventually.ts';
import { configMap } from '../../../test/support/scripted-api.ts';
import { collect, startClient as start } from '../../../test/support/scripted-client.ts';
import { CONFIG_MAPS } from '../../api/resources.ts';
import type { KubeClient } from '../client.ts';

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
