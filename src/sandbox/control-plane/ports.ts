import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import type { Ports } from './control-plane.ts';

/** Below the ephemeral ports, so that no outgoing connection takes a port between its choice and its use. */
const FIRST = 20_000;
const LAST = 32_000;

/** Free ports on loopback, all different. Another program may still take one before its use: callers must retry. */
export async function freePorts(): Promise<Ports> {
  const taken = new Set<number>();
  const next = async () => {
    const port = await freePort(taken);
    taken.add(port);
    return port;
  };
  return {
    api: await next(),
    controllerManager: await next(),
    scheduler: await next(),
  };
}

/** The same, one of them, and none of these. */
export async function freePort(taken: ReadonlySet<number> = new Set()): Promise<number> {
  let port = randomInt(FIRST, LAST);
  while (taken.has(port) || !(await isFree(port))) port = randomInt(FIRST, LAST);
  return port;
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
