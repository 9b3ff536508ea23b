import { randomInt } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { BenchCluster } from '../bench-cluster.ts';
import { namespaceOf } from '../contender.ts';
import type { Program } from '../program.ts';
import { podOf, until } from './cluster-objects.ts';
import { type Files, MountedFolder } from './mounted-folder.ts';
import { Resp } from './resp.ts';
import { type ClusterName, type Entry, watchCluster } from './watch-object.ts';

/** Whom floor and bench log in as: one whose password stays. */
export const BENCH_USER = { name: 'bench', password: 'bench-word' } as const;

/** What a pod begins with. */
export interface Mounts {
  readonly secrets: Files;
  readonly tls: Files;
}

/** The folders, the address and the names of a pod, before anything runs in it. */
export interface PodPlace {
  /** As the audit log knows it. */
  readonly account: string;
  readonly cluster: ClusterName;
  readonly address: string;
  readonly folder: string;
  readonly data: string;
  readonly socket: string;
  readonly secrets: MountedFolder;
  readonly tls: MountedFolder;
  remove(): void;
}

/** Its socket is within its folder, and such a path must be short. */
export function makePlace(bench: BenchCluster, account: string, mounts: Mounts): PodPlace {
  const folder = mkdtempSync('/tmp/attune-bench-');
  const data = join(folder, 'data');
  return {
    account,
    cluster: { namespace: namespaceOf(account), name: account },
    address: `127.${randomInt(2, 250)}.${randomInt(250)}.${randomInt(1, 250)}`,
    folder,
    data,
    socket: join(data, '.attune', 'redis.sock'),
    secrets: new MountedFolder(join(folder, 'secrets'), mounts.secrets),
    tls: new MountedFolder(join(folder, 'tls'), mounts.tls),
    remove: bench.onStop(() => rmSync(folder, { recursive: true, force: true })),
  };
}

/** A Redis that somebody keeps in tune: an agent, or the floor. */
export interface RedisPod extends PodPlace {
  readonly contender: string;
  /** Who keeps it in tune. */
  readonly program: Program;
  /** As somebody who may do everything. */
  readonly redis: Resp;
  /** For logins to try. */
  readonly door: Resp;
  /** Whether it says in the status what it has done. */
  readonly tells: boolean;
  /** What it says of itself, and when the bench learned of that. */
  told(): { readonly entry: Entry; readonly at: number };
  /** How many commands its Redis got from others than the bench. */
  commands(): Promise<number>;
  stop(): Promise<void>;
}

interface Running {
  readonly contender: string;
  readonly program: Program;
  readonly tells: boolean;
  readonly stop: () => Promise<void>;
}

/** Whoever has started it is running; this adds the bench's own view of it. */
export async function observe(bench: BenchCluster, place: PodPlace, running: Running): Promise<RedisPod> {
  const { name, password } = BENCH_USER;
  const redis = await openAs(place.socket, name, password);
  const door = await Resp.open(place.socket);
  let told: { readonly entry: Entry; readonly at: number } = { entry: {}, at: Number.NaN };
  const unwatch = await watchCluster(bench.api.access, place.cluster, ({ status }, at) => {
    told = { entry: status?.instancesStatus?.[podOf(place.cluster)] ?? {}, at };
  });
  return {
    ...place,
    ...running,
    redis,
    door,
    told: () => told,
    async commands() {
      // Taken before the question, which is not in the answer yet.
      const own = redis.sent + door.sent;
      const info = String(await redis.send('INFO', 'stats'));
      return Number(/^total_commands_processed:(\d+)/m.exec(info)?.[1]) - own;
    },
    async stop() {
      unwatch();
      redis.close();
      door.close();
      await running.stop();
      place.remove();
    },
  };
}

/** A login as soon as there is a Redis that accepts it. */
export async function openAs(socket: string, user: string, password: string): Promise<Resp> {
  let redis: Resp | undefined;
  await until(`a login as ${user}`, async () => {
    const tried = await Resp.open(socket);
    try {
      await tried.send('AUTH', user, password);
      redis = tried;
      return true;
    } catch (error) {
      tried.close();
      throw error;
    }
  });
  if (!redis) throw new Error(`${user} cannot log in`);
  return redis;
}
