import type { RequestOptions } from 'node:https';
import { KubeConfig } from '@kubernetes/client-node';
import type { Connection } from './connection.ts';

/**
 * Exec plugins, OIDC, auth providers and proxies, as kubectl's users know them. The library is large (60 MB of memory):
 * this file is imported only when a kubeconfig asks for such things.
 */
export async function readForeignKubeconfig(files: readonly string[], context: string): Promise<Connection> {
  const config = new KubeConfig();
  for (const file of files) {
    const part = new KubeConfig();
    part.loadFromFile(file);
    config.mergeConfig(part, true);
  }
  config.setCurrentContext(context);
  const cluster = config.getCurrentCluster();
  if (!cluster) throw new Error(`${files.join(', ')}: context "${context}" has no cluster`);

  const first: RequestOptions = {};
  await config.applyToHTTPSOptions(first);
  const { ca, cert, key, pfx, passphrase, servername, rejectUnauthorized } = first;
  const tls = Object.fromEntries(
    Object.entries({ ca, cert, key, pfx, passphrase, servername, rejectUnauthorized }).filter(
      ([, value]) => value !== undefined,
    ),
  );
  return {
    server: new URL(cluster.server),
    tls: () => tls,
    agent: cluster.proxyUrl && typeof first.agent === 'object' ? first.agent : undefined,
    async authorization() {
      // The library runs a plugin again only when its last credential has expired.
      const options: RequestOptions = {};
      await config.applyToHTTPSOptions(options);
      if (options.auth) return `Basic ${Buffer.from(options.auth).toString('base64')}`;
      const headers = (options.headers ?? {}) as Readonly<Record<string, string | undefined>>;
      return headers['Authorization'] ?? headers['authorization'];
    },
  };
}
