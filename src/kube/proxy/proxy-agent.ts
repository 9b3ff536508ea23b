import type { Agent } from 'node:http';
import { isIP, isIPv6, type Socket } from 'node:net';
import { http, https } from '../../runtime/node-http.ts';
import type { Connection } from '../auth/connection.ts';
import { ConnectError, proxyEndpoint, toConnectError } from '../wire/connect-error.ts';
import { dialer } from '../wire/dial.ts';

/** Opens a connection through the proxy; fails when nothing has arrived for so many milliseconds. */
type Tunnel = (idleMs: number | undefined) => Promise<Socket>;

// Less than the API server and most load balancers allow an idle connection.
const KEEP_ALIVE_MS = 50_000;

/** Reaches the server through a proxy (http://, https:// or SOCKS), which sees no more than its name. */
export async function proxyAgent(connection: Pick<Connection, 'server' | 'tls'>, proxy: URL): Promise<Agent> {
  const { protocol, hostname, port } = connection.server;
  const isSecure = protocol === 'https:';
  const host = bare(hostname);
  const tunnel = await tunnelTo({ host, port: Number(port || (isSecure ? 443 : 80)) }, proxy);
  const dial = dialer(connection);
  const endpoint = proxyEndpoint(proxy);
  const options = { keepAlive: true, timeout: KEEP_ALIVE_MS };
  const agent = isSecure ? new https.Agent(options) : new http.Agent(options);
  agent.createConnection = ({ timeout }, callback) => {
    const done = callback as (error: Error | null, socket?: Socket) => void;
    tunnel(timeout)
      .catch((error: unknown) => {
        throw toConnectError(endpoint, error);
      })
      .then((socket) => dial(socket).setTimeout(KEEP_ALIVE_MS))
      .then((socket) => done(null, socket), done);
    return undefined;
  };
  return agent;
}

async function tunnelTo(target: { readonly host: string; readonly port: number }, proxy: URL): Promise<Tunnel> {
  if (proxy.protocol.startsWith('socks')) {
    const { socksTunnel } = await import('./socks-tunnel.ts');
    return socksTunnel(proxy, target);
  }
  const authority = `${isIPv6(target.host) ? `[${target.host}]` : target.host}:${target.port}`;
  return (idleMs) => connectThrough(proxy, authority, idleMs);
}

function connectThrough(proxy: URL, authority: string, idleMs: number | undefined): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const host = bare(proxy.hostname);
  const request = (proxy.protocol === 'https:' ? https : http).request({
    method: 'CONNECT',
    host,
    port: proxy.port,
    // Else Node would expect the certificate of the host in the header, which is the server's.
    servername: isIP(host) === 0 ? host : '',
    path: authority,
    headers: { host: authority, ...credentials(proxy) },
    agent: false,
    timeout: idleMs,
  });
  const { name } = proxyEndpoint(proxy);
  const refuse = (status: number | undefined) => reject(new ConnectError(`${name} answered ${describeStatus(status)}`));
  request.once('error', reject);
  request.once('timeout', () => request.destroy(new ConnectError(`${name} says nothing`)));
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

/** Brackets around an IPv6 address belong to the URL, not to the address. */
const bare = (hostname: string) => hostname.replace(/^\[|\]$/g, '');

function credentials({ username, password }: URL): Record<string, string> {
  if (username === '' && password === '') return {};
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(pair).toString('base64')}` };
}
