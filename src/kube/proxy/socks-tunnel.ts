import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { SocksClient } from 'socks';
import { ConnectError, proxyEndpoint, toConnectError } from '../wire/connect-error.ts';

// In the protocol a length is one byte.
const MAX_CREDENTIAL_BYTES = 255;
const TIMEOUT_MS = 30_000;

/**
 * Opens connections through a SOCKS proxy. As with kubectl, the proxy resolves the name of the server, for `socks5` as
 * well as for `socks5h`. Only `socks4` needs it resolved here: its protocol carries nothing but IPv4 addresses.
 */
export function socksTunnel(proxy: URL, target: { readonly host: string; readonly port: number }) {
  const { name } = proxyEndpoint(proxy);
  const [userId = '', password = ''] = [proxy.username, proxy.password].map(decodeURIComponent);
  if (Math.max(Buffer.byteLength(userId), Buffer.byteLength(password)) > MAX_CREDENTIAL_BYTES) {
    throw new Error(`the user name or password for ${name} has more than ${MAX_CREDENTIAL_BYTES} bytes`);
  }
  const host = proxy.hostname.replace(/^\[|\]$/g, '');
  const port = Number(proxy.port || 1080);
  const type: 4 | 5 = proxy.protocol.startsWith('socks4') ? 4 : 5;
  return async (timeout = TIMEOUT_MS): Promise<Socket> => {
    let socket: Socket | undefined;
    try {
      const isResolvedHere = proxy.protocol === 'socks4:';
      const destination = isResolvedHere ? { ...target, host: await ipv4Of(target.host) } : target;
      // Connected here, because the library loses the code of an error.
      socket = connect({ host, port });
      await once(socket, 'connect', { signal: AbortSignal.timeout(timeout) });
      const server = { host, port, type, userId, password };
      const options = { proxy: server, command: 'connect' as const, destination, existing_socket: socket, timeout };
      await SocksClient.createConnection(options);
      return socket;
    } catch (error) {
      socket?.destroy();
      const { code, message } = error as NodeJS.ErrnoException;
      // The error itself has the password in its options; the library's messages are fixed texts.
      throw code
        ? toConnectError(proxyEndpoint(proxy), error)
        : new ConnectError(`${name}: ${message}${cureFor(message)}`);
    }
  };
}

const ipv4Of = async (host: string): Promise<string> => (await lookup(host, { family: 4 })).address;

const cureFor = (message: string): string =>
  /authentication|Ident/i.test(message) ? '; it wants other credentials than those in the URL of the proxy' : '';
