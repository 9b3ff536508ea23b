import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { hostsOf } from '../endpoint.ts';
import { makeAuthority, makeLeaf } from './make-certificates.ts';
import { pairProblem } from './pem.ts';
import { BACKDATED_MS } from './stored-certificates.ts';

const DAY = 86_400_000;
const now = Date.now();
const times = { nowMs: now, notAfterMs: now + DAY };
const first = await makeAuthority(times);
const second = await makeAuthority({ ...times, nowMs: now + 1 });
const HOSTS = [...hostsOf({ name: 'attune-admission', namespace: 'attune', url: '' }), '127.0.0.1', '::1'];
const leaf = await makeLeaf(first, HOSTS, times);

/** What a client says that trusts `ca` and expects `host`. */
async function handshake(ca: string, host: string): Promise<string> {
  const server = createServer({ ...leaf, minVersion: 'TLSv1.2' }, (socket) => socket.end()).listen(0, '127.0.0.1');
  try {
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const socket = connect({ port, host: '127.0.0.1', ca, servername: /^[\d.:]+$/.test(host) ? '' : host });
    // An address is no server name; Node takes it from `host`, which is what a caller by address does.
    await once(socket, 'secureConnect');
    socket.destroy();
    return 'trusted';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  } finally {
    server.close();
  }
}

describe('a leaf', () => {
  it.each(HOSTS.filter((host) => host !== '::1'))('is trusted as %s', async (host) => {
    expect(await handshake(first.cert, host)).toBe('trusted');
  });

  it('is trusted by a bundle of several authorities, in either order', async () => {
    expect(await handshake(first.cert + second.cert, 'attune-admission.attune.svc')).toBe('trusted');
    expect(await handshake(second.cert + first.cert, 'attune-admission.attune.svc')).toBe('trusted');
  });

  it('is trusted by no other authority, and for no other host', async () => {
    expect(await handshake(second.cert, 'attune-admission.attune.svc')).toMatch(/UNABLE|SELF_SIGNED/);
    expect(await handshake(first.cert, 'other.attune.svc')).toBe('ERR_TLS_CERT_ALTNAME_INVALID');
  });

  it('is valid since an hour ago, in whole seconds, and is no authority', () => {
    const certificate = new X509Certificate(leaf.cert);
    expect(certificate.validFromDate.getTime()).toBe(Math.ceil(now / 1000) * 1000 - BACKDATED_MS);
    expect(certificate.validToDate.getTime()).toBe(Math.ceil((now + DAY) / 1000) * 1000);
    expect(certificate.checkIP('::1')).toBe('::1');
    expect(certificate.ca).toBe(false);
    expect(new X509Certificate(first.cert).ca).toBe(true);
    expect([pairProblem(leaf), pairProblem(first)]).toEqual([undefined, undefined]);
    expect(pairProblem({ cert: leaf.cert, key: first.key })).toBe('fit');
  });
});
