const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'https:': '443', 'http:': '80' };
const SOCKS_PORT = '1080';

const portOf = ({ protocol, port }: URL): string => port || (DEFAULT_PORTS[protocol] ?? SOCKS_PORT);

/** Where to connect to. The brackets around an IPv6 address belong to the URL, not to the address. */
export const addressOf = (url: URL): { readonly host: string; readonly port: number } => ({
  host: url.hostname.replace(/^\[|\]$/g, ''),
  port: Number(portOf(url)),
});

/** `10.0.0.1:6443`, `[fd00::1]:443`. Without the credentials that a URL may hold. */
export const hostAndPort = (url: URL): string => `${url.hostname}:${portOf(url)}`;
