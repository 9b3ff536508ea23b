import { request } from 'node:https';
import { type Access, headersOf, now } from '../api.ts';
import { collectionPath } from '../objects.ts';

/** A RedisCluster, by its name. */
export interface ClusterName {
  readonly namespace: string;
  readonly name: string;
}

/** As much of a RedisCluster as the bench looks at. */
export interface SeenCluster {
  readonly spec: { readonly redis?: Readonly<Record<string, string>> };
  readonly status?: { readonly instancesStatus?: Readonly<Record<string, Entry>> };
}

/** What a pod says of itself there. */
export interface Entry {
  readonly state?: string;
  readonly message?: string;
  readonly config?: Readonly<Record<string, { readonly state?: string; readonly value?: string }>>;
  readonly credentials?: { readonly id?: string; readonly phase?: string };
  readonly tls?: { readonly leaf?: string };
}

/** Tells each version of a RedisCluster and when its bytes arrived; resolves when the watch is open, to what ends it. */
export async function watchCluster(
  access: Access,
  { namespace, name }: ClusterName,
  saw: (object: SeenCluster, at: number) => void,
): Promise<() => void> {
  const path = `${collectionPath('RedisCluster', namespace)}?watch=1&timeoutSeconds=86400&fieldSelector=metadata.name%3D${name}`;
  return await new Promise((resolve, reject) => {
    const sent = request(
      new URL(path, access.server),
      { agent: false, ca: access.authority, headers: headersOf(access.token, undefined, '') },
      (answer) => {
        let rest = '';
        answer.setEncoding('utf8');
        answer.on('data', (text: string) => {
          const at = now();
          const lines = (rest + text).split('\n');
          rest = lines.pop() ?? '';
          for (const line of lines) saw((JSON.parse(line) as { readonly object: SeenCluster }).object, at);
        });
        answer.on('error', () => {});
        resolve(() => answer.destroy());
      },
    );
    sent.on('error', reject);
    sent.end();
  });
}
