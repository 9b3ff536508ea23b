import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { delimiter, join } from 'node:path';
import type { ConnectionOptions } from 'node:tls';
import type { Clock } from '../../runtime/clock.ts';
import { environmentProxy } from '../proxy/environment-proxy.ts';
import { readKubeconfig } from './kubeconfig.ts';
import { tlsFromFiles } from './tls-files.ts';
import { tokenFromFile } from './token-file.ts';

export type TlsOptions = Pick<ConnectionOptions, 'ca' | 'cert' | 'key' | 'servername' | 'rejectUnauthorized'>;

/**
 * Opens a connection to the server through a proxy; fails when nothing has arrived for so many milliseconds, or when it is
 * called off.
 */
export type Tunnel = (idleMs: number, signal: AbortSignal) => Promise<Socket>;

/** Where the API server is, and our credentials. Holds no socket. */
export interface Connection {
  readonly server: URL;
  /** The kubeconfig's context; undefined for the pod's own ServiceAccount. */
  readonly context?: string | undefined;
  /** Called for each new socket, because certificates rotate; returns the same object until one has changed. */
  tls(): TlsOptions;
  /** The namespace to use where none is named. */
  readonly namespace?: string | undefined;
  readonly proxy?: URL | undefined;
  readonly tunnel?: Tunnel | undefined;
  /**
   * The value of the Authorization header. Called for each request, because tokens rotate; `refused` says that the last
   * one got a 401, so a cached one must not be returned.
   */
  authorization(refused?: boolean): string | undefined | Promise<string | undefined>;
}

export interface ConnectOptions {
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  /** The whole of it: exec plugins get all variables. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where the kubelet mounts the ServiceAccount. */
  readonly serviceAccountDir?: string;
  readonly clock?: Clock;
}

const SERVICE_ACCOUNT_DIR = '/var/run/secrets/kubernetes.io/serviceaccount';

/** The named kubeconfig, else $KUBECONFIG, else ~/.kube/config if it exists, else the pod's own ServiceAccount. */
export async function connect(options: ConnectOptions): Promise<Connection> {
  const files = kubeconfigFiles(options);
  const connection = await (files.length > 0 ? readKubeconfig(files, options) : inCluster(options));
  const proxy = connection.proxy ?? environmentProxy(connection.server, options.env);
  if (!proxy) return connection;
  const { proxyTunnel } = await import('../proxy/proxy-tunnel.ts');
  return { ...connection, proxy, tunnel: await proxyTunnel(connection.server, proxy) };
}

function kubeconfigFiles({ kubeconfig, env: { KUBECONFIG, HOME } }: ConnectOptions): readonly string[] {
  // The controller's settings pass the variable on as if it were the flag; it may name several files.
  if (kubeconfig && kubeconfig !== KUBECONFIG) return [kubeconfig];
  if (KUBECONFIG) return KUBECONFIG.split(delimiter).filter((file) => file !== '');
  const usual = HOME ? join(HOME, '.kube', 'config') : undefined;
  return usual && existsSync(usual) ? [usual] : [];
}

async function inCluster(options: ConnectOptions): Promise<Connection> {
  const { env, serviceAccountDir = SERVICE_ACCOUNT_DIR, clock } = options;
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env;
  if (!host || !port) {
    throw new Error(
      'no way to the API server: $KUBECONFIG is not set, ~/.kube/config does not exist, and this is not a pod ' +
        '(KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set); name a kubeconfig with --kubeconfig',
    );
  }
  const tls = tlsFromFiles({}, { ca: join(serviceAccountDir, 'ca.crt') }, clock);
  const namespace = await readFile(join(serviceAccountDir, 'namespace'), 'utf8').catch(() => undefined);
  return {
    server: new URL(`https://${host.includes(':') ? `[${host}]` : host}:${port}`),
    tls: () => tls(),
    namespace: namespace?.trim(),
    authorization: tokenFromFile(join(serviceAccountDir, 'token'), clock),
  };
}
