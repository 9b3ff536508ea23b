import { existsSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type ApiAccess, apiRequest } from './api-request.ts';

/** How long one step of the start may take; a busy machine needs many times the usual. */
const DEADLINE_MS = 90_000;
const INTERVAL_MS = 50;

async function until(what: string, condition: () => Promise<boolean>, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS;
  for (;;) {
    signal.throwIfAborted();
    if (await condition().catch(() => false)) return;
    if (performance.now() > deadline) throw new Error(`${what} did not happen within ${DEADLINE_MS / 1000} s`);
    await delay(INTERVAL_MS);
  }
}

/** etcd makes its sockets before it can answer. A client that connects earlier waits for the answer. */
export async function waitForEtcd(sockets: readonly string[], signal: AbortSignal): Promise<void> {
  await until('etcd listening', async () => sockets.every((socket) => existsSync(socket)), signal);
}

/** Returns the authority of the API server's certificate, which it writes into a file before it listens. */
export async function waitForAuthority(file: string, signal: AbortSignal): Promise<string> {
  const complete = () => existsSync(file) && readFileSync(file, 'utf8').endsWith('-----END CERTIFICATE-----\n');
  await until('the API server making its certificate', async () => complete(), signal);
  return readFileSync(file, 'utf8');
}

export async function waitForApiServer(access: ApiAccess, signal: AbortSignal): Promise<void> {
  const ready = async () => (await apiRequest(access, 'GET', '/readyz', { timeoutMs: 2000 })).status === 200;
  await until('the API server becoming ready', ready, signal);
}

/** No pod can be created before the controller manager has created the ServiceAccount of the namespace. */
export async function waitForControllerManager(access: ApiAccess, signal: AbortSignal): Promise<void> {
  const path = '/api/v1/namespaces/default/serviceaccounts/default';
  const made = async () => (await apiRequest(access, 'GET', path)).status === 200;
  await until('the controller manager starting to work', made, signal);
}

/** Who was told that the sandbox is up may ask for any of its parts, and nothing else says that the scheduler has begun. */
export async function waitForListener(component: string, port: number, signal: AbortSignal): Promise<void> {
  const listens = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => resolve(true));
      socket.once('error', () => resolve(false)).once('connect', () => socket.destroy());
    });
  await until(`${component} listening on port ${port}`, listens, signal);
}

/** Creates nodes node-0, node-1, … and waits until kwok has made all of them ready. */
export async function createNodes(access: ApiAccess, count: number, signal: AbortSignal): Promise<void> {
  for (let index = 0; index < count; index++) {
    const name = `node-${index}`;
    const labels = { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux', 'sandbox.attune.dev/node': 'kwok' };
    const body = { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } };
    const { status, text } = await apiRequest(access, 'POST', '/api/v1/nodes', { body });
    if (status !== 201 && status !== 409) throw new Error(`node ${name} was refused: ${status} ${text}`);
  }
  const ready = async () => {
    const { text } = await apiRequest(access, 'GET', '/api/v1/nodes');
    const { items } = JSON.parse(text) as { items: { status: { conditions?: { type: string; status: string }[] } }[] };
    const isReady = ({ type, status }: { type: string; status: string }) => type === 'Ready' && status === 'True';
    return items.filter((node) => node.status.conditions?.some(isReady)).length >= count;
  };
  await until('nodes becoming ready', ready, signal);
}
