import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/** A TCP port of the loopback address that nobody has at this moment. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Why Redis cannot listen where its start file says, in words; undefined where it can. */
export async function portProblem(startFile: string): Promise<string | undefined> {
  const ports = [lastOf(startFile, 'port') ?? '6379', lastOf(startFile, 'tls-port') ?? '0'].map(Number);
  const hosts = (lastOf(startFile, 'bind') ?? '*').split(/\s+/);
  for (const port of ports.filter((number) => number > 0 && number < 65536)) {
    // An address with a dash may be missing.
    for (const host of hosts.filter((name) => name !== '' && !name.startsWith('-'))) {
      const problem = await listenProblem(host === '*' ? '0.0.0.0' : host, port);
      if (problem) return problem;
    }
  }
  return undefined;
}

async function listenProblem(host: string, port: number): Promise<string | undefined> {
  const server = createServer();
  try {
    server.listen({ port, host: host === '::*' ? '::' : host, exclusive: true });
    await once(server, 'listening');
    return undefined;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE')
      return `port ${port} on ${host} is taken by another process: end it, or choose another port`;
    if (code === 'EADDRNOTAVAIL') return `${host} is no address of this machine: see bind`;
    if (code === 'EACCES') return `port ${port} may not be used by this user: choose one above 1023`;
    return `cannot listen on ${host}, port ${port}: ${message}`;
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
}

/** The value of a directive that people do not need to escape: in a start file the last one wins. */
function lastOf(startFile: string, key: string): string | undefined {
  const lines = startFile.split('\n').map((line) => /^\s*(\S+)\s+(.*?)\s*$/.exec(line));
  const value = lines.findLast((line) => line?.[1]?.toLowerCase() === key)?.[2];
  return value?.replace(/^"(.*)"$/, '$1');
}
