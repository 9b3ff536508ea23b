import { isIP, type Socket } from 'node:net';
import { http, https } from '../../runtime/node-http.ts';
import type { Tunnel } from '../auth/connection.ts';
import { addressOf, hostAndPort } from '../wire/address.ts';
import { ConnectError, proxyEndpoint, toConnectError } from '../wire/connect-error.ts';

/** Reaches the server through a proxy (http://, https:// or SOCKS), which sees no more than its name. */
export async function proxyTunnel(server: URL, proxy: URL): Promise<Tunnel> {
  if (!proxy.protocol.startsWith('socks')) {
    return (idleMs, signal) => connectThrough(proxy, hostAndPort(server), idleMs, signal);
  }
  const { socksTunnel } = await import('./socks-tunnel.ts');
  return socksTunnel(proxy, addressOf(server));
}

function connectThrough(proxy: URL, authority: string, idleMs: number, signal: AbortSignal): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const { host, port } = addressOf(proxy);
  const request = (proxy.protocol === 'https:' ? https : http).request({
    method: 'CONNECT',
    host,
    port,
    // Else Node would expect the certificate of the host in the header, which is the server's.
    servername: isIP(host) === 0 ? host : '',
    path: authority,
    headers: { host: authority, ...credentials(proxy) },
    agent: false,
    timeout: idleMs,
    signal,
  });
  const endpoint = proxyEndpoint(proxy);
  const refuse = (status: number | undefined) =>
    reject(new ConnectError(`${endpoint.name} answered ${describeStatus(status)}`));
  request.once('error', (error) => reject(toConnectError(endpoint, error)));
  request.once('timeout', () => request.destroy(new ConnectError(`${endpoint.name} says nothing`)));
  request.once('response', (answer) => {
    refuse(answer.statusCode);
    answer.destroy();
  });
  request.once('connect', ({ statusCode }, socket) => {
    request.removeAllListeners('timeout');
    (socket as Socket).setTimeout(0);
    if (statusCode === 200) return resolve(socket as Socket);
    refuse(statusCode);
    socket.destroy();
  });
  request.end();
  return promise;
}

function describeStatus(status: number | undefined): string {
  if (status === 407) return '407; it wants other credentials than those in the URL of the proxy';
  return status === 403 ? '403; it does not let us through to the API server' : String(status);
}

function credentials({ username, password }: URL): Record<string, string> {
  if (username === '' && password === '') return {};
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(pair).toString('base64')}` };
}
