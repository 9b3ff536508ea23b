import { createServer, type IncomingMessage, type Server } from 'node:http';
import { connect, type Socket } from 'node:net';

/** What an HTTP proxy was asked for. */
interface Asked {
  readonly target: string | undefined;
  readonly credentials: string | undefined;
}

/** An HTTP proxy that leads every CONNECT to one port of this machine. Not listening yet. */
export function connectProxy(port: number): { readonly server: Server; readonly asked: readonly Asked[] } {
  const asked: Asked[] = [];
  const server = createServer().on('connect', (request: IncomingMessage, client: Socket) => {
    client.on('error', () => {});
    asked.push({ target: request.url, credentials: request.headers['proxy-authorization'] });
    client.write('HTTP/1.1 200 OK\r\n\r\n');
    const onward = connect(port, '127.0.0.1');
    onward.on('error', () => client.destroy());
    client.on('close', () => onward.destroy());
    client.pipe(onward).pipe(client);
  });
  return { server, asked };
}
