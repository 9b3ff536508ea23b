import { EventEmitter } from 'node:events';
import type { RequestOptions } from 'node:https';
import type { Socket } from 'node:net';
import { KubeConfig } from '@kubernetes/client-node';

/**
 * Opens connections through a SOCKS proxy, as client-node knows how to. The library is large (60 MB of memory): this
 * file is imported only when a kubeconfig asks for it.
 */
export async function socksTunnel(proxyUrl: string, host: string, port: number): Promise<() => Promise<Socket>> {
  const config = new KubeConfig();
  config.loadFromClusterAndUser({ name: '', server: 'https://unused', skipTLSVerify: false, proxyUrl }, { name: '' });
  const options: RequestOptions = {};
  await config.applyToHTTPSOptions(options);
  const socks = options.agent as unknown as { connect(request: EventEmitter, target: object): Promise<Socket> };
  return () => socks.connect(new EventEmitter(), { host, port, secureEndpoint: false });
}
