import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Agent } from 'node:http';
import { delimiter, join } from 'node:path';
import type { ConnectionOptions } from 'node:tls';
import { fileToken } from './file-token.ts';
import { readKubeconfig } from './kubeconfig.ts';

export type TlsOptions = Pick<
  ConnectionOptions,
  'ca' | 'cert' | 'key' | 'pfx' | 'passphrase' | 'servername' | 'rejectUnauthorized'
>;

/** Where the API server is and how we show who we are. Holds no socket. */
export interface Connection {
  readonly server: URL;
  /** Asked for each socket, because certificates rotate; the same object for as long as nothing did. */
  tls(): TlsOptions;
  /** The namespace to use where none is named. */
  readonly namespace?: string | undefined;
  /** Only where sockets must go through a proxy. */
  readonly agent?: Agent | undefined;
  /**
   * The value of the Authorization header; asked for each request, because tokens rotate. `refused` tells that the
   * last one brought a 401, so that a cached token is given up.
   */
  authorization(refused?: boolean): string | undefined | Promise<string | undefined>;
}

export interface ConnectOptions {
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  readonly env: {
    readonly KUBECONFIG?: string | undefined;
    readonly HOME?: string | undefined;
    readonly KUBERNETES_SERVICE_HOST?: string | undefined;
    readonly KUBERNETES_SERVICE_PORT?: string | undefined;
  };
  /** Where the kubelet mounts the ServiceAccount. */
  readonly serviceAccountDir?: string;
}

const SERVICE_ACCOUNT_DIR = '/var/run/secrets/kubernetes.io/serviceaccount';

/** The named kubeconfig, else $KUBECONFIG, else ~/.kube/config if it exists, else the pod's own ServiceAccount. */
export async function connect(options: ConnectOptions): Promise<Connection> {
  const files = kubeconfigFiles(options);
  if (files.length > 0) return readKubeconfig(files, options.context);
  return inCluster(options);
}

function kubeconfigFiles({ kubeconfig, env }: ConnectOptions): readonly string[] {
  if (kubeconfig) return [kubeconfig];
  if (env.KUBECONFIG) return env.KUBECONFIG.split(delimiter).filter((file) => file !== '');
  const usual = env.HOME ? join(env.HOME, '.kube', 'config') : undefined;
  return usual && existsSync(usual) ? [usual] : [];
}

async function inCluster({ env, serviceAccountDir = SERVICE_ACCOUNT_DIR }: ConnectOptions): Promise<Connection> {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env;
  if (!host || !port) {
    throw new Error(
      'no way to the API server: $KUBECONFIG is not set, ~/.kube/config does not exist, and this is not a pod ' +
        '(KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set)',
    );
  }
  const [ca, namespace] = await Promise.all([
    readFile(join(serviceAccountDir, 'ca.crt')),
    readFile(join(serviceAccountDir, 'namespace'), 'utf8').catch(() => undefined),
  ]);
  const tls = { ca };
  return {
    server: new URL(`https://${host.includes(':') ? `[${host}]` : host}:${port}`),
    tls: () => tls,
    namespace: namespace?.trim(),
    authorization: fileToken(join(serviceAccountDir, 'token')),
  };
}
