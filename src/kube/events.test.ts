import { afterEach, expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { type Answer, type ScriptedApi, scriptedApi } from '../../test/support/scripted-api.ts';
import { virtualClock } from '../../test/support/virtual-clock.ts';
import { CONFIG_MAPS } from '../api/resources.ts';
import { KubeClient } from './client.ts';
import { type EventPost, EventSink } from './events.ts';

const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanUp.splice(0).reverse()) await clean();
});

async function start(script: Partial<Record<'create' | 'patch' | 'get', readonly Answer[]>> = {}, capacity?: number) {
  const ok: Answer = (exchange) => exchange.json(200, {});
  const api = await scriptedApi({ create: [ok], patch: [ok], get: [ok], ...script });
  const client = new KubeClient(api.connection);
  const clock = virtualClock(Date.UTC(2001, 0, 1));
  cleanUp.push(
    () => api[Symbol.asyncDispose](),
    () => client.close(),
  );
  const sink = new EventSink({ client, clock, capacity });
  /** Until so many have been handled. */
  const handled = async (count: number) => {
    await eventually(() => {
      clock.advance(20);
      return sink.counts.sent + sink.counts.failed;
    }).toBe(count);
  };
  return { api, client, clock, sink, handled };
}

const event = (message: string, name = 'web'): EventPost => ({
  regarding: { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop', name, uid: `uid-${name}` },
  type: 'Normal',
  reason: 'Reloaded',
  message,
  component: 'attune',
  fieldManager: 'attune',
});
const bodies = (api: ScriptedApi) => api.requests.map((r) => `${r.verb} ${JSON.parse(r.body).message ?? r.body}`);

test('an Event as kubectl describe shows it', async () => {
  const { api, sink, handled } = await start();
  sink.post(event('rolled'));
  await handled(1);
  const [request] = api.requests;
  expect(request?.path).toBe('/api/v1/namespaces/shop/events');
  expect(request?.query.get('fieldManager')).toBe('attune');
  expect(JSON.parse(request?.body ?? '')).toMatchObject({
    metadata: { namespace: 'shop', name: expect.stringMatching(/^web\.[0-9a-f]{16}$/) },
    involvedObject: { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop', name: 'web', uid: 'uid-web' },
    type: 'Normal',
    reason: 'Reloaded',
    message: 'rolled',
    source: { component: 'attune' },
    count: 1,
    firstTimestamp: expect.stringMatching(/^2001-01-01T00:00:0\dZ$/),
  });
});

test('long names and messages are cut to what the server accepts', async () => {
  const { api, sink, handled } = await start();
  sink.post(event('m'.repeat(2000), 'n'.repeat(253)));
  await handled(1);
  const body = JSON.parse(api.requests[0]?.body ?? '');
  expect(body.metadata.name).toHaveLength(253);
  expect(body.message).toHaveLength(1024);
});

test('a repetition counts up; after ten minutes it is an Event of its own', async () => {
  const { api, clock, sink, handled } = await start();
  for (let i = 0; i < 3; i += 1) sink.post(event('rolled'));
  sink.post(event('other'));
  await handled(4);
  clock.advance(601_000);
  sink.post(event('rolled'));
  await handled(5);
  expect(bodies(api)).toEqual([
    'create rolled',
    expect.stringMatching(/^patch \{"count":2,"lastTimestamp":"/),
    expect.stringMatching(/^patch \{"count":3,/),
    'create other',
    'create rolled',
  ]);
  expect(api.requests[1]?.path).toBe(
    `/api/v1/namespaces/shop/events/${JSON.parse(api.requests[0]?.body ?? '').metadata.name}`,
  );
});

test('an Event that is gone, or must not be patched, is created anew', async () => {
  const { api, sink, handled } = await start({
    patch: [(e) => e.status(404, 'NotFound'), (e) => e.status(403, 'Forbidden')],
  });
  for (let i = 0; i < 3; i += 1) sink.post(event('rolled'));
  await handled(3);
  expect(api.requests.map((r) => r.verb)).toEqual(['create', 'patch', 'create', 'patch', 'create']);
  expect(sink.counts).toEqual({ sent: 3, dropped: 0, failed: 0 });
});

test('an object that talks too much is cut off, and no other', async () => {
  const { clock, sink, handled } = await start();
  for (let i = 0; i < 40; i += 1) sink.post(event(`message ${i}`));
  sink.post(event('hello', 'other'));
  await handled(26);
  expect(sink.counts).toEqual({ sent: 26, dropped: 15, failed: 0 });
  clock.advance(300_000);
  sink.post(event('again'));
  await handled(27);
});

test('memory is bounded: what is over the capacity is dropped and counted', async () => {
  const { sink, handled } = await start({}, 3);
  for (let i = 0; i < 5; i += 1) sink.post(event('hello', `web-${i}`));
  await handled(3);
  expect(sink.counts.dropped).toBe(2);
});

test('failures are counted, and the next Event goes on', async () => {
  const { api, sink, handled } = await start({
    create: [(e) => e.status(403, 'Forbidden'), (e) => e.cut(), (e) => e.json(200, {})],
  });
  for (const name of ['a', 'b', 'c']) sink.post(event('hello', name));
  await handled(3);
  expect(sink.counts).toEqual({ sent: 1, dropped: 0, failed: 2 });
  expect(api.requests).toHaveLength(3);
});

test('other calls go first, but not for ever', async () => {
  const gate = Promise.withResolvers<void>();
  const { api, client, clock, sink } = await start({ get: [(e) => gate.promise.then(() => e.json(200, {}))] });
  const other = client.get(CONFIG_MAPS, { namespace: 'a', name: 'b' });
  await eventually(() => api.requests.length).toBe(1);
  sink.post(event('rolled'));
  await clock.run(900);
  expect(api.requests).toHaveLength(1);
  await clock.run(200);
  await eventually(() => api.requests.length).toBe(2);
  gate.resolve();
  await other;
});

test('close sends what waits', async () => {
  const { api, clock, sink } = await start();
  for (const name of ['a', 'b', 'c']) sink.post(event('hello', name));
  const closing = sink.close(1000);
  sink.post(event('late', 'd'));
  await clock.run(20);
  await closing;
  expect(api.requests).toHaveLength(3);
  expect(sink.counts).toEqual({ sent: 3, dropped: 1, failed: 0 });
  expect(clock.timers).toBe(0);
});

test('close gives up at its deadline', async () => {
  const { api, clock, sink } = await start({ create: [() => {}] });
  for (const name of ['a', 'b', 'c']) sink.post(event('hello', name));
  const closing = sink.close(1000);
  await clock.run(20);
  await eventually(() => api.requests.length).toBe(1);
  clock.advance(1000);
  await closing;
  expect(sink.counts).toEqual({ sent: 0, dropped: 2, failed: 1 });
});
