import http from 'node:http';
import net from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { virtualClock } from '../../test/support/virtual-clock.ts';
import { systemClock } from '../runtime/clock.ts';
import { createServer, type ServerSettings, type TelemetryServer } from './server.ts';

const host = '127.0.0.1';
const running: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of running.splice(0)) await each.stop();
});

function started(settings: Partial<ServerSettings> = {}) {
  const said: string[] = [];
  const say = (message: string, fields = {}): void => void said.push(`${message} ${JSON.stringify(fields)}`);
  const server = createServer({
    host,
    port: 0,
    live: () => true,
    ready: () => true,
    render: () => 'a 1\n',
    log: { debug: say, info: say, warn: say, error: say },
    clock: systemClock,
    ...settings,
  });
  running.push(server);
  server.start();
  return { server, said };
}

/** Where it listens, as soon as it does. */
async function portOf(server: TelemetryServer): Promise<number> {
  await eventually(() => server.port()).toBeGreaterThan(0);
  return server.port() ?? 0;
}

async function ask(server: TelemetryServer, path: string, method = 'GET') {
  const response = await fetch(`http://${host}:${await portOf(server)}${path}`, { method });
  return { status: response.status, body: await response.text(), headers: response.headers };
}

test('metrics in the format of Prometheus', async () => {
  const { server } = started();
  const { status, body, headers } = await ask(server, '/metrics?x=1');
  expect([status, body]).toEqual([200, 'a 1\n']);
  expect(headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  expect(await ask(server, '/metrics', 'HEAD')).toMatchObject({ status: 200, body: '' });
});

test('alive and ready are asked each time', async () => {
  const state = { live: true, ready: false };
  const { server } = started({ live: () => state.live, ready: () => state.ready });
  expect(await ask(server, '/live')).toMatchObject({ status: 200, body: 'alive' });
  expect(await ask(server, '/healthz')).toMatchObject({ status: 200, body: 'alive' });
  expect(await ask(server, '/readyz')).toMatchObject({ status: 503, body: 'not ready' });
  state.live = false;
  state.ready = true;
  expect(await ask(server, '/live')).toMatchObject({ status: 500, body: '' });
  expect(await ask(server, '/healthz')).toMatchObject({ status: 500, body: '' });
  expect(await ask(server, '/readyz')).toMatchObject({ status: 200, body: 'ready' });
});

test('nothing else: no profiler, no other page, no other method', async () => {
  const { server } = started();
  for (const path of ['/', '/debug/pprof/', '/debug/pprof/heap', '/metrics/', '//metrics']) {
    expect(await ask(server, path)).toMatchObject({ status: 404 });
  }
  for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
    expect(await ask(server, '/metrics', method)).toMatchObject({ status: 405 });
  }
});

test('a page that fails answers 500 and harms nothing', async () => {
  let broken = true;
  const { server, said } = started({
    render: () => {
      if (broken) throw new Error('broken');
      return 'a 1\n';
    },
  });
  expect(await ask(server, '/metrics')).toMatchObject({ status: 500 });
  broken = false;
  expect(await ask(server, '/metrics')).toMatchObject({ status: 200 });
  expect(said.filter((line) => line.includes('broken'))).toHaveLength(1);
});

test('a port that is taken is named, tried again with growing pauses, and used once it is free', async () => {
  const clock = virtualClock();
  const squatter = http.createServer();
  await new Promise<void>((resolve) => squatter.listen(0, host, resolve));
  const { port } = squatter.address() as net.AddressInfo;

  const { server, said } = started({ port, clock });
  await eventually(() => said).toHaveLength(1);
  expect(said[0]).toMatch(/"port":\d+,"error":"the port is taken by another process","retryInMs":500/);
  clock.advance(500);
  await eventually(() => said).toHaveLength(2);
  expect(said[1]).toContain('"retryInMs":1000');
  expect(server.port()).toBeUndefined();

  await new Promise((resolve) => squatter.close(resolve));
  clock.advance(1000);
  expect(await portOf(server)).toBe(port);
  expect(await ask(server, '/live')).toMatchObject({ status: 200 });
});

test('stopping closes what is open, and nothing is tried any more', async () => {
  const { server } = started();
  const port = await portOf(server);
  const idle = net.connect(port, host);
  await new Promise((resolve) => idle.once('connect', resolve));
  // It may be connected and not yet accepted: then it is not ended but broken, which closes it all the same.
  const closed = new Promise((resolve) => idle.on('error', () => {}).once('close', resolve));
  idle.resume();
  await server.stop();
  await closed;
  await expect(fetch(`http://${host}:${port}/live`)).rejects.toThrow();
});

test('stopping while the port is taken calls the next attempt off', async () => {
  const clock = virtualClock();
  const squatter = http.createServer();
  await new Promise<void>((resolve) => squatter.listen(0, host, resolve));
  const { server, said } = started({ port: (squatter.address() as net.AddressInfo).port, clock });
  await eventually(() => said).toHaveLength(1);
  await server.stop();
  expect(clock.timers).toBe(0);
  await new Promise((resolve) => squatter.close(resolve));
});
