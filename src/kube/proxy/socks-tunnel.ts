import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { SocksClient } from 'socks';
import { addressOf } from '../wire/address.ts';
import { ConnectError, proxyEndpoint, toConnectError } from '../wire/connect-error.ts';

// In the protocol a length is one byte.
const MAX_CREDENTIAL_BYTES = 255;
const TIMEOUT_MS = 30_000;

/**
 * Opens connections through a SOCKS proxy. As with kubectl, the proxy resolves the name of the server, for `socks5` as
 * well as for `socks5h`. Only `socks4` needs it resolved here: its protocol carries nothing but IPv4 addresses.
 */
export function socksTunnel(proxy: URL, { host, port }: { readonly host: string; readonly port: number }) {
  const endpoint = proxyEndpoint(proxy);
  const [userId = '', password = ''] = [proxy.username, proxy.password].map(decodeURIComponent);
  if (Math.max(Buffer.byteLength(userId), Buffer.byteLength(password)) > MAX_CREDENTIAL_BYTES) {
    throw new Error(`the user name or password for ${endpoint.name} has more than ${MAX_CREDENTIAL_BYTES} bytes`);
  }
  const address = addressOf(proxy);
  const type: 4 | 5 = proxy.protocol.startsWith('socks4') ? 4 : 5;
  const command = { proxy: { ...address, type, userId, password }, command: 'connect' } as const;
  return async (timeout = TIMEOUT_MS, signal?: AbortSignal): Promise<Socket> => {
    let socket: Socket | undefined;
    try {
      const target = proxy.protocol === 'socks4:' ? (await lookup(host, { family: 4 })).address : host;
      // Connected here, because the library drops the code of an error.
      socket = connect({ ...address, ...(signal && { signal }) });
      await once(socket, 'connect', { signal: AbortSignal.timeout(timeout) });
      const destination = { host: target, port };
      await SocksClient.createConnection({ ...command, destination, existing_socket: socket, timeout });
      return socket;
    } catch (error) {
      socket?.destroy();
      const { code, message } = error as NodeJS.ErrnoException;
      // Not the library's error itself, which has the password in its options; its messages are fixed texts.
      throw code
        ? toConnectError(endpoint, error)
        : new ConnectError(`${endpoint.name}: ${message}${cureFor(message)}`);
    }
  };
}

const cureFor = (message: string): string =>
  /authentication|Ident/i.test(message) ? '; it wants other credentials than those in the URL of the proxy' : '';
