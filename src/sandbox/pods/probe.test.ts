import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../../test/support/wait.ts';
import type { PodContainer } from './pod.ts';
import { runProbe } from './probe.ts';

let status = 200;
let asked = 0;
const server = createServer((request, response) => {
  asked++;
  response.writeHead(request.url === '/health' ? status : 404).end();
});
let container: PodContainer;
beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  container = { name: 'main', image: 'attune', ports: [{ name: 'http', containerPort: port }] };
});
afterAll(() => server.close());

// Without a limit that a slow machine could pass: a question without an answer is a failure as well.
const timeoutSeconds = 20;
const httpGet = { path: '/health', port: 'http' };

test('it tells changes only, after as many answers as the author wants', async () => {
  status = 503;
  asked = 0;
  const told: (readonly [boolean, number])[] = [];
  const stop = new AbortController();
  const probe = { httpGet, timeoutSeconds, periodSeconds: 0.01, failureThreshold: 3, successThreshold: 2 };
  const changed = (healthy: boolean) => void told.push([healthy, asked]);
  const finished = runProbe(probe, container, '127.0.0.1', { signal: stop.signal, changed, eager: false });
  await until(() => told.length === 1, { what: 'the first word' });
  expect(told[0]).toEqual([false, 3]);
  status = 200;
  asked = 0;
  await until(() => told.length === 2, { what: 'the second word' });
  expect(told[1]?.[0]).toBe(true);
  const before = asked;
  await until(() => asked > before + 3, { what: 'some more questions' });
  expect(told.length).toBe(2);
  stop.abort();
  await finished;
});

test.each([
  [399, true],
  [400, false],
])('an answer of %i is good: %s', async (code, good) => {
  status = code;
  const stop = new AbortController();
  const healthy = await new Promise<boolean>((resolve) => {
    const probe = { httpGet, timeoutSeconds, failureThreshold: 1 };
    void runProbe(probe, container, '127.0.0.1', { signal: stop.signal, changed: resolve, eager: true });
  });
  stop.abort();
  expect(healthy).toBe(good);
});

test('a port is enough for a probe that only connects, and nobody there is bad', async () => {
  const stop = new AbortController();
  const ask = (port: number | string) =>
    new Promise<boolean>((resolve) => {
      const probe = { tcpSocket: { port }, timeoutSeconds, failureThreshold: 1 };
      void runProbe(probe, container, '127.0.0.1', { signal: stop.signal, changed: resolve, eager: true });
    });
  expect(await ask('http')).toBe(true);
  expect(await ask(1)).toBe(false);
  stop.abort();
});
