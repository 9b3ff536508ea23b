import { readFileSync, watch } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Access } from '../api.ts';
import { BENCH_USER } from './redis-pod.ts';
import { Resp } from './resp.ts';
import { type ClusterName, type SeenCluster, watchCluster } from './watch-object.ts';

/**
 * The floor: what the API server, the kernel and Redis themselves cost. It watches the object and both folders, answers each
 * change with one command to Redis, and looks at nothing: not whether the value is one, not what became of it.
 */
export interface FloorPaths {
  readonly socket: string;
  readonly secrets: string;
  readonly tls: string;
}

/** Resolves when it watches; runs until the process ends. */
async function runFloor(access: Access, cluster: ClusterName, paths: FloorPaths): Promise<void> {
  const redis = await Resp.open(paths.socket);
  await redis.send('AUTH', BENCH_USER.name, BENCH_USER.password);
  const set = (...words: readonly string[]): void => void redis.send('CONFIG', 'SET', ...words);
  const swapped = (folder: string, react: () => void): void => {
    watch(folder, (_, name) => name === '..data' && react());
  };
  swapped(paths.secrets, () => set('requirepass', readFileSync(join(paths.secrets, 'auth/password'), 'utf8')));
  swapped(paths.tls, () => set(...tlsWords(paths.tls)));
  await watchCluster(access, cluster, ({ spec }: SeenCluster) => {
    set('maxmemory', spec.redis?.['maxmemory'] ?? '0');
  });
}

/** What makes Redis read its certificates, be the paths the same as before. */
export const tlsWords = (folder: string): readonly string[] => [
  ...['tls-cert-file', join(folder, 'tls.crt')],
  ...['tls-key-file', join(folder, 'tls.key')],
  ...['tls-ca-cert-file', join(folder, 'ca.crt')],
];

async function main(): Promise<void> {
  const options = { access: { type: 'string' }, cluster: { type: 'string' }, paths: { type: 'string' } } as const;
  const { access = '', cluster = '', paths = '' } = parseArgs({ options }).values;
  await runFloor(JSON.parse(readFileSync(access, 'utf8')), JSON.parse(cluster), JSON.parse(paths));
  process.stdout.write('ready\n');
}

if (import.meta.main) await main();
