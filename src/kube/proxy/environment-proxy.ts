import { BlockList, isIP } from 'node:net';
import { addressOf } from '../wire/address.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The proxy for a server from the environment, by the rules that Go's programs and curl share: $HTTPS_PROXY or
 * $HTTP_PROXY, unless $NO_PROXY names the server. This machine itself is never reached through one.
 */
export function environmentProxy(server: URL, env: Environment): URL | undefined {
  const name = server.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY';
  const given = env[name] || env[name.toLowerCase()];
  const { host, port } = addressOf(server);
  const except = (env['NO_PROXY'] || env['no_proxy'] || '').split(',').map((item) => item.trim());
  if (!given || isLocal(host) || except.some((item) => matches(item, host, port))) return;
  const proxy = URL.parse(given.includes('://') ? given : `http://${given}`);
  if (proxy && /^(https?|socks5h?):$/.test(proxy.protocol)) return proxy;
  // Not quoted: it may hold a password.
  throw new Error(`$${name} is no proxy; expected a URL like http://host:3128`);
}

const isLocal = (host: string): boolean =>
  host === 'localhost' || isWithin(host, '127.0.0.0/8') || isWithin(host, '::1');

/** One item of $NO_PROXY: `*`, an address or range, a domain with its subdomains, or only its subdomains (`.a`). */
function matches(item: string, host: string, port: number): boolean {
  if (item === '') return false;
  if (item === '*' || isWithin(host, item)) return true;
  const [, name = item, ofPort] = /^(.*):(\d+)$/.exec(item) ?? [];
  if (ofPort && Number(ofPort) !== port) return false;
  const bare = name
    .replace(/^\[|\]$/g, '')
    .replace(/^\*\./, '.')
    .toLowerCase();
  // An address can be written in several ways.
  if (isIP(bare) !== 0) return isWithin(host, bare);
  return host === bare || (isIP(host) === 0 && host.endsWith(bare.startsWith('.') ? bare : `.${bare}`));
}

/** Whether an address is this one or in this range; false for what is neither. */
function isWithin(host: string, range: string): boolean {
  const family = familyOf(host);
  const [, address = '', bits] = /^([^/]+)(?:\/(\d+))?$/.exec(range) ?? [];
  if (!family || familyOf(address) !== family) return false;
  const list = new BlockList();
  try {
    list.addSubnet(address, bits === undefined ? (family === 'ipv4' ? 32 : 128) : Number(bits), family);
    return list.check(host, family);
  } catch {
    // A prefix that is too long.
    return false;
  }
}

const familyOf = (address: string) => ({ 4: 'ipv4' as const, 6: 'ipv6' as const })[isIP(address)];
