import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll } from 'vitest';
import { makeAuthority, makeLeaf } from '../../../src/admission/certificates/make-certificates.ts';

interface Review {
  readonly request: {
    readonly uid: string;
    readonly operation: string;
    readonly name: string;
    readonly kind: { readonly kind: string };
    readonly userInfo: { readonly username: string };
  };
}

/** An endpoint that allows every request, and remembers those of the test; it ends with the test file. */
export async function receiver() {
  const times = { nowMs: Date.now(), notAfterMs: Date.now() + 3_600_000 };
  const authority = await makeAuthority(times);
  const leaf = await makeLeaf(authority, ['127.0.0.1'], times);
  const calls: string[] = [];
  let lastPath = '';
  const server = createServer(leaf, async (request, response) => {
    lastPath = request.url?.split('?')[0] ?? '';
    const body = (await request.toArray()).join('');
    if (body === '') return void response.end('ready');
    const { uid, operation, kind, name, userInfo } = (JSON.parse(body) as Review).request;
    // The controllers of the cluster write to workloads too.
    if (!userInfo.username.startsWith('system:')) calls.push(`${operation} ${kind.kind} ${name}`);
    const answer = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: { uid, allowed: true } };
    response.end(JSON.stringify(answer));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `https://127.0.0.1:${port}`, bundle: authority.cert, calls, lastPath: () => lastPath };
}
