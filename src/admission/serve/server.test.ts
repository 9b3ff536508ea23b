import { once } from 'node:events';
import { Agent } from 'node:https';
import { describe, expect, test } from 'vitest';
import {
  admissionServer,
  ask,
  certificate,
  heldReview,
  post,
  reviewOf,
  servedAdmission,
  tcpConnection,
  tlsConnection,
  UNCHANGED,
  untilEnd,
} from '../../../test/support/admission-server.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { selfSigned } from '../../../test/support/self-signed.ts';

const HELD = { checkMs: 20, headersMs: 100, requestMs: 100 };
// Where the beginning of a request has to arrive in time, also on a machine with much else to do.
const HELD_LATER = { checkMs: 20, headersMs: 2000, requestMs: 2000 };

describe('what is served', () => {
  test('reviews, over one kept connection', async () => {
    const { port, requests, count } = await servedAdmission();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const sockets = new Set<unknown>();
    agent.on('free', (socket) => sockets.add(socket));
    for (let times = 0; times < 5; times += 1) {
      const { status, headers, body } = await post(port, reviewOf({ namespace: 'shop' }), { agent });
      expect([status, headers['content-type']]).toEqual([200, 'application/json']);
      expect(JSON.parse(body)).toEqual({
        apiVersion: 'admission.k8s.io/v1',
        kind: 'AdmissionReview',
        response: { uid: 'u-1', allowed: true },
      });
    }
    expect(sockets.size).toBe(1);
    agent.destroy();
    expect(requests).toHaveLength(5);
    expect(requests[0]).toMatchObject({ uid: 'u-1', namespace: 'shop' });
    expect(count('attune_admission_requests_total{outcome="unchanged",dry_run="false"}')).toBe(5);
    expect(count('attune_admission_duration_seconds_count')).toBe(5);
  });

  test('reviews of a type that is JSON, and no others', async () => {
    const { port, requests } = await servedAdmission();
    const typed = (type: string) => post(port, reviewOf({}), { headers: { 'content-type': type } });
    expect(await typed('application/json; charset=utf-8')).toMatchObject({ status: 200 });
    expect(await typed('Application/JSON')).toMatchObject({ status: 200 });
    const refused = { status: 400, body: 'expected the content type application/json' };
    expect(await typed('text/plain')).toMatchObject(refused);
    expect(await typed('application/jsonp')).toMatchObject(refused);
    expect(await post(port, reviewOf({}), { headers: {} })).toMatchObject(refused);
    expect(requests).toHaveLength(2);
  });

  test('whether it is ready, asked each time', async () => {
    let isReady = false;
    const { port } = await servedAdmission({ isReady: () => isReady });
    expect(await ask(port, '/readyz')).toMatchObject({ status: 503, body: 'not ready' });
    isReady = true;
    expect(await ask(port, '/readyz?verbose')).toMatchObject({ status: 200, body: 'ready' });
    expect(await ask(port, '/readyz', { method: 'HEAD' })).toMatchObject({ status: 200, body: '' });
  });

  test('nothing else', async () => {
    const { port } = await servedAdmission();
    expect(await ask(port, '/mutate')).toMatchObject({ status: 405, headers: { allow: 'POST' } });
    expect(await ask(port, '/mutate', { method: 'PUT' })).toMatchObject({ status: 405 });
    expect(await ask(port, '/readyz', { method: 'POST' })).toMatchObject({
      status: 405,
      headers: { allow: 'GET, HEAD' },
    });
    for (const path of ['/', '/metrics', '/mutate/x', '//mutate']) {
      expect(await ask(port, path)).toMatchObject({ status: 404 });
    }
  });
});

describe('certificates', () => {
  /** The certificate of the other side, as PEM without line breaks. */
  async function handshake(port: number): Promise<string> {
    const socket = await tlsConnection(port, { rejectUnauthorized: false });
    const { raw } = socket.getPeerCertificate();
    socket.destroy();
    return raw.toString('base64');
  }
  const bare = (pem: string): string => pem.replace(/-----[A-Z ]+-----|\s/g, '');

  test('nobody is let in before the first', async () => {
    const { server } = admissionServer();
    const started = server.start();
    expect(server.port()).toBeUndefined();
    server.useCertificate(certificate);
    const port = await started;
    expect(server.port()).toBe(port);
    expect(await ask(port, '/readyz')).toMatchObject({ status: 200 });
  });

  test('a new one holds from the next handshake on, and open connections live on', async () => {
    const { server, port } = await servedAdmission();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    await post(port, reviewOf({}), { agent });
    expect(await handshake(port)).toBe(bare(certificate.cert));
    const next = selfSigned('127.0.0.1');
    server.useCertificate(next);
    expect(await handshake(port)).toBe(bare(next.cert));
    // The client trusts the first one only: a new connection would fail.
    expect(await post(port, reviewOf({}), { agent })).toMatchObject({ status: 200 });
    agent.destroy();
    await expect(post(port, reviewOf({}))).rejects.toThrow('self-signed certificate');
  });

  test('what is none is not taken, and the one before goes on', async () => {
    const { server, port } = await servedAdmission();
    expect(() => server.useCertificate({ cert: 'none', key: certificate.key })).toThrow();
    expect(() => server.useCertificate({ ...certificate, key: selfSigned('127.0.0.1').key })).toThrow();
    expect(await handshake(port)).toBe(bare(certificate.cert));
  });

  test.each([['TLSv1.1'], ['TLSv1.2'], ['TLSv1.3']] as const)('%s, also after a new certificate', async (version) => {
    const { server, port, lines } = await servedAdmission();
    server.useCertificate(certificate);
    const options = { minVersion: version, maxVersion: version, ciphers: 'DEFAULT@SECLEVEL=0' };
    const connected = tlsConnection(port, options).then((socket) => socket.getProtocol());
    if (version !== 'TLSv1.1') expect(await connected).toBe(version);
    else {
      await expect(connected).rejects.toThrow(/alert protocol version/i);
      expect(lines.join('')).toContain('TLS handshake failed');
    }
  });
});

describe('a port that cannot be had', () => {
  test('is told with the cure', async () => {
    const { port } = await servedAdmission();
    const { server } = admissionServer({ listen: { host: '127.0.0.1', port } });
    server.useCertificate(certificate);
    await expect(server.start()).rejects.toThrow(
      `cannot serve admission on 127.0.0.1:${port}: another process has the port; end it, or name a free one with --admission-listen`,
    );
    expect(server.port()).toBeUndefined();
  });
});

describe('the end', () => {
  test('before it began', async () => {
    const { server } = admissionServer();
    const started = server.start();
    await server.stop();
    await expect(started).rejects.toThrow('stopped before it began to listen');
  });

  test('answers what is under way, and ends idle connections at once', async () => {
    const { held, begun, answer } = heldReview();
    const { server, port } = await servedAdmission(held);
    const idle = await tlsConnection(port);
    idle.write('GET /readyz HTTP/1.1\r\nhost: a\r\n\r\n');
    await once(idle, 'data');
    const agent = new Agent({ keepAlive: true });
    const asked = post(port, reviewOf({}), { agent });
    await begun;
    const stopped = server.stop();
    await untilEnd(idle);
    await expect(ask(port, '/readyz')).rejects.toThrow('ECONNREFUSED');
    answer();
    expect(await asked).toMatchObject({ status: 200, headers: { connection: 'close' } });
    await stopped;
    expect(server.port()).toBeUndefined();
    agent.destroy();
  });

  test('waits for nobody who holds a connection', async () => {
    const { server, port } = await servedAdmission(heldReview().held, { stopMs: 50 });
    const mute = await tcpConnection(port);
    const half = await tlsConnection(port);
    half.write('POST /mutate HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{');
    const asked = expect(post(port, reviewOf({}))).rejects.toThrow();
    const ends = [mute, half].map(untilEnd);
    await server.stop();
    await Promise.all([...ends, asked]);
  });

  test('twice', async () => {
    const { server } = await servedAdmission();
    await Promise.all([server.stop(), server.stop()]);
  });
});

describe('slow clients are cut', () => {
  test('one that never speaks TLS', async () => {
    const { port } = await servedAdmission({}, { handshakeMs: 50 });
    expect(await untilEnd(await tcpConnection(port))).toBe('');
  });

  test('one that asks for nothing', async () => {
    const { port } = await servedAdmission({}, HELD);
    expect(await untilEnd(await tlsConnection(port))).toMatch(/^(HTTP\/1\.1 408 |$)/);
  });

  test('one whose head never ends', async () => {
    const { port } = await servedAdmission({}, HELD);
    const socket = await tlsConnection(port);
    socket.write('POST /mutate HTTP/1.1\r\nhost: a\r\nx-');
    expect(await untilEnd(socket)).toMatch(/^HTTP\/1\.1 408 /);
  });

  test('one whose body never ends', async () => {
    const { port, requests, count } = await servedAdmission({}, HELD_LATER);
    const socket = await tlsConnection(port);
    socket.write('POST /mutate HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{');
    expect(await untilEnd(socket)).toMatch(/^HTTP\/1\.1 503 /);
    await eventually(() => count('attune_admission_requests_total{outcome="refused",dry_run="false"}')).toBe(1);
    expect(requests).toHaveLength(0);
  });

  test('one that does not read its answer', async () => {
    const operations = [{ op: 'add', path: '/a', value: 'x'.repeat(20 * 1024 * 1024) }] as const;
    const admit = () => ({ ...UNCHANGED, operations });
    const { port, requests } = await servedAdmission({ admit }, { silentMs: 2000, connections: 1 });
    const socket = await tlsConnection(port);
    const body = JSON.stringify(reviewOf({}));
    socket.write('POST /mutate HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n');
    socket.write(`content-length: ${body.length}\r\n\r\n${body}`);
    await eventually(() => requests.length).toBe(1);
    // Its place is free again.
    await served(port);
    expect((await untilEnd(socket)).length).toBeLessThan(20 * 1024 * 1024);
  });

  test('one that is idle for long', async () => {
    const { port } = await servedAdmission({}, { idleMs: 50 });
    const socket = await tlsConnection(port);
    socket.write('GET /readyz HTTP/1.1\r\nhost: a\r\n\r\n');
    expect(await untilEnd(socket)).toMatch(/^HTTP\/1\.1 200 /);
  });

  const served = (port: number) =>
    eventually(() => ask(port, '/readyz').catch(() => undefined)).toMatchObject({ status: 200 });
});
