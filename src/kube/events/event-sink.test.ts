import { expect, test } from 'vitest';
import { event, startSink } from '../../../test/support/event-sink.ts';
import { eventually } from '../../../test/support/eventually.ts';
import type { Answer, ScriptedApi } from '../../../test/support/scripted-api.ts';
import { CONFIG_MAPS } from '../../api/resources.ts';
import type { EventPost } from './event-post.ts';

const bodies = (api: ScriptedApi) => api.requests.map((r) => `${r.verb} ${JSON.parse(r.body).message ?? r.body}`);

test('an Event may carry annotations; with others it is no repetition, and they count for the room that there is', async () => {
  const { api, sink, handled, told } = await startSink({}, 8192);
  const about = (sources: string): EventPost => ({
    ...event('rolled'),
    annotations: { 'attune.dev/sources': sources },
  });
  for (const sources of ['a,b', 'a,c', 'a,b']) sink.post(about(sources));
  sink.post(about('x'.repeat(5000)));
  expect(told).toEqual(['dropping: full, web']);
  await handled(3);
  expect(
    api.requests.map(({ body }) => JSON.parse(body)).map(({ metadata, count }) => [metadata.annotations, count]),
  ).toEqual([
    [{ 'attune.dev/sources': 'a,b' }, 2],
    [{ 'attune.dev/sources': 'a,c' }, 1],
  ]);
});

test('Events of one object arrive in their order, however slow one is; others do not wait for it', async () => {
  const held = Promise.withResolvers<void>();
  const arrived: string[] = [];
  const answer: Answer = async (exchange) => {
    const { message } = JSON.parse(exchange.body);
    if (message === 'reloaded') await held.promise;
    arrived.push(message);
    exchange.json(201, {});
  };
  const { sink, handled } = await startSink({ create: [answer] });
  for (const message of ['reloaded', 'reverted']) sink.post(event(message));
  sink.post(event('of another', 'api'));
  await handled(1);
  expect(arrived).toEqual(['of another']);
  held.resolve();
  await handled(3);
  expect(arrived).toEqual(['of another', 'reloaded', 'reverted']);
});

test('an Event as kubectl describe shows it', async () => {
  const { api, sink, handled } = await startSink();
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
  const { api, sink, handled } = await startSink();
  sink.post(event('m'.repeat(2000), 'n'.repeat(253)));
  await handled(1);
  const body = JSON.parse(api.requests[0]?.body ?? '');
  expect(body.metadata.name).toHaveLength(253);
  expect(body.message).toHaveLength(1024);
});

test('a repetition counts up; after ten minutes it is an Event of its own', async () => {
  const { api, clock, sink, handled } = await startSink();
  for (let i = 1; i <= 3; i += 1) {
    sink.post(event('rolled'));
    await handled(i);
  }
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

test('repetitions that wait are one request, and one that comes while it is under way is counted up after it', async () => {
  const gate = Promise.withResolvers<void>();
  const { api, clock, sink, handled } = await startSink({ create: [(e) => gate.promise.then(() => e.json(200, {}))] });
  for (let i = 0; i < 3; i += 1) sink.post(event('rolled'));
  await eventually(() => {
    clock.advance(1);
    return api.requests.length;
  }).toBe(1);
  for (let i = 0; i < 2; i += 1) sink.post(event('rolled'));
  await clock.run(5000);
  expect(api.requests).toHaveLength(1);
  gate.resolve();
  await handled(5);
  expect(api.requests.map(({ verb, body }) => [verb, JSON.parse(body).count])).toEqual([
    ['create', 3],
    ['patch', 5],
  ]);
});

test('an Event that is gone, or must not be patched, is created anew', async () => {
  const { api, sink, handled } = await startSink({
    patch: [(e) => e.status(404, 'NotFound'), (e) => e.status(403, 'Forbidden')],
  });
  for (let i = 1; i <= 3; i += 1) {
    sink.post(event('rolled'));
    await handled(i);
  }
  expect(api.requests.map((r) => r.verb)).toEqual(['create', 'patch', 'create', 'patch', 'create']);
  expect(sink.counts).toEqual({ sent: 3, dropped: 0, failed: 0 });
});

test('an object that talks too much is cut off, and no other; that is told twice, not for each', async () => {
  const { clock, sink, told, handled } = await startSink();
  for (let i = 0; i < 40; i += 1) sink.post(event(`message ${i}`));
  sink.post(event('hello', 'other'));
  await handled(26);
  expect(sink.counts).toEqual({ sent: 26, dropped: 15, failed: 0 });
  expect(told).toEqual(['dropping: limited, web']);
  clock.advance(300_000);
  expect(told.splice(0)).toEqual(['dropping: limited, web', 'dropped: limited, 15']);
  sink.post(event('again'));
  await handled(27);
  expect(told).toEqual([]);
});

test('fifteen hundred at once arrive, a few at a time', async () => {
  let open = 0;
  let most = 0;
  const answer: Answer = async (e) => {
    open += 1;
    most = Math.max(most, open);
    await new Promise((resolve) => setImmediate(resolve));
    open -= 1;
    e.json(200, {});
  };
  const { sink, told, handled } = await startSink({ create: [answer], patch: [answer] });
  for (let i = 0; i < 1500; i += 1) sink.post(event(`Changes detected in 'app-${i}' of type 'CONFIGMAP'`, `web-${i}`));
  await handled(1500);
  expect(sink.counts).toEqual({ sent: 1500, dropped: 0, failed: 0 });
  expect(told).toEqual([]);
  expect(most).toBeGreaterThan(1);
  expect(most).toBeLessThan(9);
});

test('memory is bounded by bytes: what finds no room is dropped and counted, and told at the beginning and the end', async () => {
  const { sink, told, handled } = await startSink({}, 10_000);
  const long = 'm'.repeat(1000);
  for (let i = 0; i < 10; i += 1) sink.post(event(long, `web-${i}`));
  expect(told).toEqual(['dropping: full, web-3']);
  await handled(3);
  expect(sink.counts.dropped).toBe(7);
  expect(told.splice(0)).toEqual(['dropping: full, web-3', 'dropped: full, 7']);
  // Repetitions need no room.
  for (let i = 0; i < 10; i += 1) sink.post(event(long, 'web-3'));
  await handled(13);
  expect(told).toEqual([]);
});

test('what the server does not take is told, and the next Event goes on', async () => {
  const { api, sink, told, handled } = await startSink({
    create: [(e) => e.status(403, 'Forbidden'), (e) => e.json(200, {})],
  });
  for (const name of ['a', 'b', 'c']) sink.post(event('hello', name));
  await handled(3);
  expect(sink.counts).toEqual({ sent: 2, dropped: 0, failed: 1 });
  expect(told).toEqual(['refused: Forbidden']);
  expect(api.requests).toHaveLength(3);
});

test('a server that asks to be left alone is left alone, and nothing is lost by that', async () => {
  const tired: Answer = (e) => e.json(429, { kind: 'Status', reason: 'TooManyRequests' }, { 'retry-after': '7' });
  const { api, clock, sink, told, handled } = await startSink({
    create: [...Array.from({ length: 6 }, () => tired), (e) => e.json(200, {})],
  });
  for (let i = 0; i < 20; i += 1) sink.post(event('hello', `web-${i}`));
  await eventually(() => {
    clock.advance(1);
    return api.requests.length;
  }).toBe(6);
  await clock.run(5000);
  expect(api.requests).toHaveLength(6);
  await handled(20, 1000);
  expect(sink.counts).toEqual({ sent: 20, dropped: 0, failed: 0 });
  expect(api.requests).toHaveLength(26);
  expect(told).toEqual([]);
});

test('an answer that is lost does not make two Events', async () => {
  const { api, sink, handled } = await startSink({
    create: [(e) => e.cut(), (e) => e.status(409, 'AlreadyExists'), (e) => e.json(200, {})],
  });
  sink.post(event('rolled'));
  await handled(1);
  const [first, second] = api.requests.map(({ body }) => JSON.parse(body).metadata.name);
  expect(second).toBe(first);
  expect(sink.counts).toEqual({ sent: 1, dropped: 0, failed: 0 });
});

test('one that never arrives is given up, and does not hold up the others for ever', async () => {
  const { api, sink, told, handled } = await startSink({ create: [(e) => e.status(500, 'InternalError')] });
  sink.post(event('rolled'));
  await handled(1, 1000);
  expect(sink.counts).toEqual({ sent: 0, dropped: 0, failed: 1 });
  expect(api.requests).toHaveLength(12);
  expect(told).toEqual(['refused: InternalError']);
});

test('other calls go first, but not for ever', async () => {
  const gate = Promise.withResolvers<void>();
  const { api, client, clock, sink } = await startSink({ get: [(e) => gate.promise.then(() => e.json(200, {}))] });
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
  const { api, clock, sink } = await startSink();
  for (const name of ['a', 'b', 'c']) sink.post(event('hello', name));
  const closing = sink.close(1000);
  sink.post(event('late', 'd'));
  await clock.run(20);
  await closing;
  expect(api.requests).toHaveLength(3);
  expect(sink.counts).toEqual({ sent: 3, dropped: 1, failed: 0 });
  expect(clock.timers).toBe(0);
});

test('close gives up at its deadline, and says how many were left', async () => {
  const { api, clock, sink, told } = await startSink({ create: [() => {}] });
  for (let i = 0; i < 20; i += 1) sink.post(event('hello', `web-${i}`));
  const closing = sink.close(1000);
  await clock.run(20);
  await eventually(() => api.requests.length).toBe(6);
  clock.advance(1000);
  await closing;
  expect(sink.counts).toEqual({ sent: 0, dropped: 20, failed: 0 });
  expect(told).toEqual(['dropped: stopped, 20']);
  expect(clock.timers).toBe(0);
});
