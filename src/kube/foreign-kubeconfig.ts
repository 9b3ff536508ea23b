import { EventEmitter } from 'node:events';
import type { RequestOptions } from 'node:https';
import type { Socket } from 'node:net';
import { KubeConfig } from '@kubernetes/client-node';
import type { Credential } from './credential.ts';
import { type Entry, isFields } from './kubeconfig-file.ts';

// What we leave to client-node. The library is large (60 MB of memory): this file is imported only when a kubeconfig
// asks for such things.

/** Before its end, so that no request is on its way with a token that has just ended. */
const LEEWAY_MS = 30_000;

/** Asks an auth provider (OIDC, and the clouds' old ones). */
export function authProvider({ file, name, fields }: Entry): () => Promise<Credential> {
  // The library keeps in it what it has refreshed.
  const provider = structuredClone(fields['auth-provider']) as NonNullable<ForeignUser['authProvider']>;
  const config: Record<string, unknown> = isFields(provider.config) ? provider.config : {};
  return async () => {
    const refreshToken = config['refresh-token'];
    // A new one each time: it goes by the end of the token itself, and no longer by what it made of it before.
    const header = await authorizationOf({ name, authProvider: provider }).catch(() => undefined);
    // Many an issuer gives a refresh token once, and the library forgets it with the first refresh.
    config['refresh-token'] ??= refreshToken;
    if (header) return { header, expiresAt: endOf(header) - LEEWAY_MS };
    throw new Error(`${file}: user "${name}": the auth provider "${provider.name}" gave no token; log in again`);
  };
}

/** Opens connections through a SOCKS proxy. */
export async function socksTunnel(proxyUrl: string, host: string, port: number): Promise<() => Promise<Socket>> {
  const { agent } = await optionsFor({ name: '' }, proxyUrl);
  const socks = agent as unknown as { connect(request: EventEmitter, target: object): Promise<Socket> };
  return () => socks.connect(new EventEmitter(), { host, port, secureEndpoint: false });
}

type ForeignUser = Parameters<KubeConfig['loadFromClusterAndUser']>[1];

async function optionsFor(user: ForeignUser, proxyUrl?: string): Promise<RequestOptions> {
  const config = new KubeConfig();
  const cluster = { name: '', server: 'https://unused', skipTLSVerify: false, ...(proxyUrl && { proxyUrl }) };
  config.loadFromClusterAndUser(cluster, user);
  const options: RequestOptions = {};
  await config.applyToHTTPSOptions(options);
  return options;
}

async function authorizationOf(user: ForeignUser): Promise<string | undefined> {
  const { headers } = await optionsFor(user);
  return (headers as Readonly<Record<string, string | undefined>>)['Authorization'];
}

/** When a JWT ends. What is none has ended: the library is asked each time, and knows. */
function endOf(header: string): number {
  try {
    const claims = JSON.parse(Buffer.from(header.split('.')[1] ?? '', 'base64url').toString()) as { exp?: unknown };
    return typeof claims.exp === 'number' ? claims.exp * 1000 : 0;
  } catch {
    return 0;
  }
}
