import { once } from 'node:events';
import https from 'node:https';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import {
  ask,
  heldReview,
  post,
  reviewOf,
  servedAdmission,
  tcpConnection,
  tlsConnection,
  untilEnd,
} from '../../../test/support/admission-server.ts';
import { collectGarbage } from '../../../test/support/collect-garbage.ts';
import { eventually } from '../../../test/support/eventually.ts';
import type { ReadHash } from './live-hash.ts';

const OTHER = '127.0.0.2';
const HEAD = 'POST /mutate HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n';

test('200 reviews at once from one address are all answered', async () => {
  const { held, begun, answer } = heldReview();
  const { port, requests } = await servedAdmission(held);
  const all = Array.from({ length: 200 }, () => post(port, reviewOf({})));
  await begun;
  await eventually(() => requests.length).toBe(200);
  answer();
  expect((await Promise.all(all)).map(({ status }) => status)).toEqual(Array.from({ length: 200 }, () => 200));
});

test('more reviews than there is room for wait; one of another address does not', async () => {
  const { held, answer } = heldReview();
  const { port, requests } = await servedAdmission(held, { reviews: 4 });
  const all = Array.from({ length: 6 }, () => post(port, reviewOf({})));
  await eventually(() => requests.length).toBe(2);
  const other = post(port, reviewOf({ uid: 'other' }), { from: OTHER });
  await eventually(() => requests.map(({ uid }) => uid)).toEqual(['u-1', 'u-1', 'other']);
  answer();
  for (const { status } of await Promise.all([...all, other])) expect(status).toBe(200);
});

test('one whose turn does not come in time is refused: the failure policy decides, and a flood is told once', async () => {
  const { held, answer } = heldReview();
  const { port, requests, lines, count } = await servedAdmission(held, { reviews: 2, answerMs: 100 });
  const first = post(port, reviewOf({}));
  await eventually(() => requests.length).toBe(1);
  for (const { status, body, headers } of await Promise.all([post(port, reviewOf({})), post(port, reviewOf({}))])) {
    expect([status, body]).toEqual([503, 'no time left: too many reviews at once, or the API server is slow']);
    // The API server would come back after the time named there, and the write would wait.
    expect(headers).not.toHaveProperty('retry-after');
  }
  answer();
  expect(await first).toMatchObject({ status: 200 });
  expect(count('attune_admission_requests_total{outcome="refused",dry_run="false"}')).toBe(2);
  expect(lines.filter((line) => line.includes('admission refused a review: no time left'))).toHaveLength(1);
});

test.each([
  ['a request shortens the time', 3600, '/mutate?timeout=1s'],
  ['and cannot lengthen it, as anybody may send one', 0.2, '/mutate?timeout=30s'],
])('Attune waits for half of what the API server waits: %s', async (_, timeoutSeconds, path) => {
  const { held } = heldReview();
  const readHash: ReadHash = (_question, _client, signal) =>
    new Promise((resolve) => signal.addEventListener('abort', () => resolve({ error: 'late' })));
  const deps = { ...held, readHash, timeoutSeconds: () => timeoutSeconds };
  const { port, requests } = await servedAdmission(deps, { answerMs: 3_600_000 });
  const headers = { 'content-type': 'application/json' };
  await ask(port, path, { method: 'POST', headers, body: JSON.stringify(reviewOf({})) });
  expect(requests).toHaveLength(1);
});

test('an idle connection keeps nothing of the bodies that came over it', async () => {
  const { port } = await servedAdmission();
  const body = JSON.stringify(reviewOf({ object: { data: 'x'.repeat(1_500_000) } }));
  const agent = new https.Agent({ keepAlive: true, maxSockets: 20 });
  const bytes = (): number => {
    collectGarbage();
    return process.memoryUsage().arrayBuffers;
  };
  const before = bytes();
  for (let times = 0; times < 2; times += 1) {
    const all = Array.from({ length: 20 }, () => post(port, body, { agent }));
    for (const { status } of await Promise.all(all)) expect(status).toBe(200);
  }
  expect(Object.values(agent.freeSockets).flat()).toHaveLength(20);
  await eventually(() => bytes() < before + 5_000_000).toBe(true);
  agent.destroy();
});

test('idle connections of one address keep nobody out, at whatever point they stopped', async () => {
  const { port } = await servedAdmission({}, { connections: 8 });
  const idle: Promise<string>[] = [];
  for (let times = 0; times < 10; times += 1) {
    idle.push(untilEnd(await tcpConnection(port)));
    const half = await tlsConnection(port);
    half.write('POST /mutate HTTP/1.1\r\nx-');
    idle.push(untilEnd(half));
    const kept = await tlsConnection(port);
    idle.push(untilEnd(kept));
    kept.write('GET /readyz HTTP/1.1\r\nhost: a\r\n\r\n');
    await once(kept, 'data');
  }
  expect(await post(port, reviewOf({}))).toMatchObject({ status: 200 });
  expect(await post(port, reviewOf({}), { from: OTHER })).toMatchObject({ status: 200 });
  // All but those for which there is a place were closed.
  await Promise.all(idle.slice(0, -4));
});

test('a connection over which reviews came outlives those that came later and asked nothing', async () => {
  const { port } = await servedAdmission({}, { connections: 8 });
  const kept = await tlsConnection(port);
  const body = JSON.stringify(reviewOf({}));
  const send = async (): Promise<string> => {
    kept.write(`${HEAD}content-length: ${body.length}\r\n\r\n${body}`);
    const [answer] = await once(kept, 'data');
    return String(answer);
  };
  expect(await send()).toMatch(/^HTTP\/1\.1 200 /);
  const ends: Promise<string>[] = [];
  for (let times = 0; times < 20; times += 1) ends.push(untilEnd(await tcpConnection(port)));
  await Promise.all(ends.slice(0, -4));
  expect(await send()).toMatch(/^HTTP\/1\.1 200 /);
});

test('a second request before the answer to the first ends the connection', async () => {
  const { held } = heldReview();
  const { port, requests } = await servedAdmission(held);
  const socket = await tlsConnection(port);
  const body = JSON.stringify(reviewOf({}));
  const one = `${HEAD}content-length: ${body.length}\r\n\r\n${body}`;
  socket.write(one + one + one);
  expect(await untilEnd(socket)).toBe('');
  expect(requests.length).toBeLessThanOrEqual(1);
  expect(await ask(port, '/readyz')).toMatchObject({ status: 200 });
});

test('the next request may come before the server hears that its last answer was sent', async () => {
  // The answer is sent by a callback after which this thread is busy: the client has it, and asks again, meanwhile.
  const readHash = () =>
    new Promise<{ error: string }>((resolve) => {
      setImmediate(() => resolve({ error: 'none' }));
      setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5));
    });
  const { held } = heldReview();
  const { port, requests } = await servedAdmission({ ...held, readHash });
  const client = new Worker(KEEPS_ASKING, { eval: true, workerData: { port, body: JSON.stringify(reviewOf({})) } });
  const [statuses] = await once(client, 'message');
  expect(statuses).toEqual(Array.from({ length: 20 }, () => 200));
  expect(requests).toHaveLength(20);
});

/** Twenty reviews, one after the other, over one connection. */
const KEEPS_ASKING = `
const { parentPort, workerData } = require('node:worker_threads');
const https = require('node:https');
const { port, body } = workerData;
const agent = new https.Agent({ keepAlive: true, maxSockets: 1 });
const headers = { 'content-type': 'application/json', 'content-length': body.length };
const options = { host: '127.0.0.1', port, path: '/mutate', method: 'POST', agent, headers, rejectUnauthorized: false };
const statuses = [];
const next = () => {
  if (statuses.length === 20) return parentPort.postMessage(statuses);
  const request = https.request(options, (response) => {
    statuses.push(response.statusCode);
    response.resume().on('end', next);
  });
  request.on('error', (error) => { statuses.push(error.code); next(); });
  request.end(body);
};
next();
`;
