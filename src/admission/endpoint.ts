import { isIPv6 } from 'node:net';
import type { JsonObject } from '../api/json.ts';

/** How the API server reaches admission. */
export interface Endpoint {
  /** Of the Service, of the registration, and of what belongs to them. */
  readonly name: string;
  /** Where the Service is. */
  readonly namespace: string;
  /** '': the Service. */
  readonly url: string;
}

const PATH = '/mutate';
const DEFAULT_NAME = 'attune-admission';

/** What a certificate has to be for: the Service under every name that anybody may call it by, or the URL's host. */
export function hostsOf({ name, namespace, url }: Endpoint): readonly string[] {
  if (url !== '') return [new URL(url).hostname.replace(/^\[(.*)\]$/, '$1')];
  const inNamespace = `${name}.${namespace}`;
  return [name, inNamespace, `${inNamespace}.svc`, `${inNamespace}.svc.cluster.local`];
}

/** The endpoint in the words of a registration. */
export function clientConfigOf({ name, namespace, url }: Endpoint): JsonObject {
  if (url === '') return { service: { name, namespace, path: PATH, port: 443 } };
  const address = new URL(url);
  if (address.pathname === '/') address.pathname = PATH;
  return { url: address.href };
}

/** The endpoint in a sentence. */
export function placeOf({ service, url }: JsonObject): string {
  if (typeof url === 'string') return url;
  const { namespace, name, port = 443, path = '' } = (service ?? {}) as Record<string, unknown>;
  return `Service ${namespace}/${name}, port ${port}, path ${path}`;
}

/** The command that registers the endpoint. */
export function installCommand({ name, namespace, url }: Endpoint): string {
  const env = name === DEFAULT_NAME ? '' : `ATTUNE_ADMISSION_NAME=${name} `;
  return `${env}attune admission install ${url === '' ? `-n ${namespace}` : `--admission-url=${url}`}`;
}

export const isAddress = (host: string): boolean => /^[\d.]+$/.test(host) || isIPv6(host);
