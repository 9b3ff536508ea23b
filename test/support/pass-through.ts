import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { afterAll } from 'vitest';

/** Where connections are passed on to. */
export interface Backend {
  readonly port: number;
  /** As kube-proxy knows it: an endpoint that is not ready gets no new connections. */
  isReady(): Promise<boolean>;
}

export interface PassThrough {
  readonly port: number;
  /** Who serves now. */
  readonly backends: Set<Backend>;
  /** Ends every connection, so that the next request has to shake hands anew. */
  cut(): void;
}

// What a probe and its way to every node take.
const LAG_MS = 1000;

/** A Service for a machine without pod network: takes TCP connections and hands each to one of those that are ready. */
export async function passThrough(): Promise<PassThrough> {
  const backends = new Set<Backend>();
  const open = new Set<Socket>();
  const known = new Map<Backend, { readonly at: number; readonly isReady: boolean }>();
  let turn = 0;
  const isKnownReady = async (backend: Backend): Promise<boolean> => {
    const last = known.get(backend);
    if (last && performance.now() - last.at < LAG_MS) return last.isReady;
    const isReady = await backend.isReady().catch(() => false);
    known.set(backend, { at: performance.now(), isReady });
    return isReady;
  };
  const server = createServer(async (client) => {
    open.add(client);
    client.on('close', () => open.delete(client));
    client.on('error', () => client.destroy());
    const ready: Backend[] = [];
    for (const backend of backends) if (await isKnownReady(backend)) ready.push(backend);
    turn += 1;
    const backend = ready[turn % Math.max(1, ready.length)];
    if (!backend) return void client.destroy();
    const upstream = connect({ host: '127.0.0.1', port: backend.port });
    upstream.on('error', () => client.destroy());
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
    client.pipe(upstream).pipe(client);
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const cut = (): void => {
    for (const socket of open) socket.destroy();
  };
  afterAll(() => {
    cut();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, backends, cut };
}
