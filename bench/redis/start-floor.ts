import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { environment } from '../../src/config/load.ts';
import type { BenchCluster } from '../bench-cluster.ts';
import { createCluster } from './cluster-objects.ts';
import { type FloorPaths, tlsWords } from './floor.ts';
import { BENCH_USER, type Mounts, makePlace, observe, openAs, type PodPlace, type RedisPod } from './redis-pod.ts';

/** A Redis that the bench starts, and the floor that changes it. */
export async function startFloor(bench: BenchCluster, mounts: Mounts): Promise<RedisPod> {
  const place = makePlace(bench, 'floor', mounts);
  const { account, cluster, folder, socket } = place;
  const access = await bench.accessOf(account);
  await createCluster(bench.api, cluster);
  const env = { PATH: environment()['PATH'] ?? '' };
  const server = bench.launch(`redis-server '${startFile(place)}' >>'${join(bench.dir, 'redis-floor.log')}'`, env);
  (await openAs(socket, BENCH_USER.name, BENCH_USER.password)).close();
  const file = join(folder, 'access.json');
  writeFileSync(file, JSON.stringify(access), { mode: 0o600 });
  const paths: FloorPaths = { socket, secrets: place.secrets.root, tls: place.tls.root };
  const script = join(import.meta.dirname, 'floor.ts');
  const words = [`--access=${file}`, `--cluster=${JSON.stringify(cluster)}`, `--paths=${JSON.stringify(paths)}`];
  const program = bench.launch([process.execPath, script, ...words].map((word) => `'${word}'`).join(' '), env);
  await program.says('ready');
  const stop = async (): Promise<void> => {
    await bench.stop(program);
    await bench.stop(server);
  };
  return await observe(bench, place, { contender: 'floor', program, tells: false, stop });
}

/** Much as an agent writes it. */
function startFile({ address, data, folder, socket, tls }: PodPlace): string {
  mkdirSync(dirname(socket), { recursive: true });
  const words = tlsWords(tls.root);
  const lines = [
    `bind ${address}`,
    'port 0',
    'tls-port 6379',
    'tls-auth-clients optional',
    ...[0, 2, 4].map((at) => `${words[at]} ${words[at + 1]}`),
    `dir ${data}`,
    `unixsocket ${socket}`,
    'appendonly yes',
    'user default on >first ~* &* +@all',
    `user ${BENCH_USER.name} on >${BENCH_USER.password} ~* &* +@all`,
  ];
  const file = join(folder, 'redis.conf');
  writeFileSync(file, `${lines.join('\n')}\n`);
  return file;
}
