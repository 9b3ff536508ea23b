import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import {
  ask,
  post,
  reviewOf,
  servedAdmission,
  tlsConnection,
  untilEnd,
} from '../../../test/support/admission-server.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { LIMITS } from './server.ts';

const HEAD = 'POST /mutate HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n';
const INVALID = 'attune_admission_requests_total{outcome="invalid",dry_run="false"}';

describe('a body that is too large', () => {
  test('is refused by what its head says, unread', async () => {
    const { port, requests, count } = await servedAdmission();
    const socket = await tlsConnection(port);
    socket.write(`${HEAD}content-length: ${LIMITS.bodyBytes + 1}\r\n\r\n`);
    expect(await untilEnd(socket)).toMatch(/^HTTP\/1\.1 413 .*connection: close.*the body is over 7340032 bytes$/is);
    expect([requests.length, count(INVALID)]).toEqual([0, 1]);
  });

  test('is refused where it goes on and on, and its sender is cut', async () => {
    const { port, requests, count } = await servedAdmission({}, { bodyBytes: 100_000 });
    const socket = await tlsConnection(port);
    const chunk = `10000\r\n${'['.repeat(0x10000)}\r\n`;
    const write = (): void => {
      if (socket.writable) socket.write(chunk, write);
    };
    socket.write(`${HEAD}transfer-encoding: chunked\r\n\r\n`, write);
    // Who is cut while sending may not get to see the answer.
    expect(await untilEnd(socket)).toMatch(/^(HTTP\/1\.1 413 |$)/);
    expect([requests.length, count(INVALID)]).toEqual([0, 1]);
    expect(await ask(port, '/readyz')).toMatchObject({ status: 200 });
  });

  test('is not one of exactly the limit', async () => {
    const body = JSON.stringify(reviewOf({ namespace: 'x'.repeat(1000) }));
    const { port } = await servedAdmission({}, { bodyBytes: body.length });
    expect(await post(port, body)).toMatchObject({ status: 200 });
    expect(await post(port, `${body} `)).toMatchObject({ status: 413 });
  });
});

test('there is room for so many bytes, half of it for one address; others wait until a request is over', async () => {
  const body = JSON.stringify(reviewOf({ namespace: 'x'.repeat(1000) }));
  const { port, requests } = await servedAdmission({}, { roomBytes: 2 * body.length, bodyBytes: body.length });
  const first = await tlsConnection(port);
  first.write(`${HEAD}content-length: ${body.length}\r\n\r\n${body.slice(0, -1)}`);
  // It is waited for: where it is not there yet, the room is taken by the one that goes on.
  expect(await post(port, body, { from: '127.0.0.2' })).toMatchObject({ status: 200 });
  const waiting = post(port, body);
  expect(await post(port, body, { from: '127.0.0.2' })).toMatchObject({ status: 200 });
  first.write(body.slice(-1));
  const [answer] = await once(first, 'data');
  expect(String(answer)).toMatch(/^HTTP\/1\.1 200 /);
  expect(await waiting).toMatchObject({ status: 200 });
  expect(requests).toHaveLength(4);
});

test('a body that breaks off gives its room back', async () => {
  const body = JSON.stringify(reviewOf({}));
  const { port, count } = await servedAdmission({}, { roomBytes: 2 * body.length, bodyBytes: body.length });
  for (let times = 0; times < 3; times += 1) {
    const socket = await tlsConnection(port);
    socket.write(`${HEAD}content-length: ${body.length}\r\n\r\n{`);
    await eventually(() => count(INVALID)).toBe(times);
    socket.destroy();
    await eventually(() => count(INVALID)).toBe(times + 1);
  }
  expect(await post(port, body)).toMatchObject({ status: 200 });
});

test('a body that does not come in time is not waited for', async () => {
  const { port } = await servedAdmission({}, { answerMs: 50 });
  const socket = await tlsConnection(port);
  socket.write(`${HEAD}content-length: 100\r\n\r\n{`);
  expect(await untilEnd(socket)).toMatch(/^HTTP\/1\.1 503 .*connection: close.*no time left/is);
});
