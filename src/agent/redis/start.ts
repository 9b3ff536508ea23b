import type { ClusterView } from '../../domain/redis/cluster-view.ts';
import { emptyPrimary, REDIS_PORT, type Upstream, wantedRole } from '../../domain/redis/role.ts';
import { renderStartFile } from '../../domain/redis/start-file.ts';
import { StateFile } from '../state/state-file.ts';
import { AOF_FOLDER, type DataFolder, DUMP, lookAtData } from './data-folder.ts';
import type { Pods } from './pods.ts';
import type { ServerProcess } from './server/server-process.ts';
import type { RedisAgentSettings } from './settings.ts';
import { Unfollowable, upstreamOf } from './steps/role.ts';
import type { Directive, PrepareContext } from './steps/step.ts';

/** What a Redis without a word about it saves after. */
const SAVE = '900 1 300 10 60 10000';

/** The steps have these for the start file. */
export interface Preparation {
  prepare(context: PrepareContext): Promise<readonly Directive[]>;
}

/** Redis is not started: what is wrong, and the way out. */
export class StartRefused extends Error {
  override readonly name = 'StartRefused';
}

/** Puts the start file together, and starts Redis with it. */
export class Starter {
  readonly #settings: RedisAgentSettings;
  readonly #server: ServerProcess;
  readonly #pods: Pods;
  readonly #steps: readonly Preparation[];
  /** Whom to follow while the API server is away. */
  readonly #upstream: StateFile<{ readonly pod: string; readonly upstream: Upstream } | null>;

  constructor(settings: RedisAgentSettings, server: ServerProcess, pods: Pods, steps: readonly Preparation[]) {
    this.#settings = settings;
    this.#server = server;
    this.#pods = pods;
    this.#steps = steps;
    this.#upstream = new StateFile(settings.paths.stateDir, 'upstream', null);
  }

  /** Says what people should know of the start; fails with {@link StartRefused} where Redis must not run, or does not. */
  async start(context: PrepareContext): Promise<string | undefined> {
    const { cluster } = context;
    const data = await lookAtData(this.#settings.paths.dataDir);
    this.#refuseEmpty(cluster, data);
    const upstream = await this.#whomToFollow(cluster);
    const prepared: Directive[] = [];
    for (const step of this.#steps) prepared.push(...(await step.prepare(context)));
    const named = new Set(prepared.map(([key]) => key));
    const base = baseDirectives(this.#settings, cluster).filter(([key]) => !named.has(key));
    // With an append-only file that does not exist yet, Redis would not read the dump, and begin with nothing.
    const isDumpOnly = !this.#settings.strict && data.aof === undefined && data.dump === 'data';
    const started = await this.#server.start(renderStartFile([...base, ...prepared]), [
      ...(upstream ? ['--replicaof', upstream.host, String(upstream.port)] : []),
      ...(isDumpOnly && !named.has('appendonly') ? ['--appendonly', 'no'] : []),
    ]);
    if (!started.ok) throw new StartRefused(`Redis does not start: ${started.words}`);
    if (started.usedLastGood)
      return `Redis runs with its last good start file; the new one was refused: ${started.words}`;
    return undefined;
  }

  /** Replicas of a primary that begins with nothing lose what they have. */
  #refuseEmpty(cluster: ClusterView, { aof, dump }: DataFolder): void {
    const { podName } = this.#settings;
    // Where Sentinel decides later on, it starts as the object says.
    if (wantedRole(cluster, podName, cluster.currentPrimary !== '').kind !== 'primary') return;
    if ((aof ?? dump) === 'data') return;
    const why = emptyPrimary(cluster, podName, 'its data folder is empty');
    if (why !== undefined) throw new StartRefused(why);
  }

  /** A replica that started as a primary would be the second one: until it is known whom to follow, nothing starts. */
  async #whomToFollow(cluster: ClusterView): Promise<Upstream | undefined> {
    const { podName } = this.#settings;
    const pod = cluster.currentPrimary;
    try {
      const upstream = await upstreamOf(cluster, podName, this.#pods, pod !== '');
      await this.#upstream.save(upstream ? { pod, upstream } : null);
      return upstream;
    } catch (error) {
      const known = this.#upstream.value;
      if (!(error instanceof Unfollowable) && known?.pod === pod) return known.upstream;
      const why = error instanceof Error ? error.message : String(error);
      throw new StartRefused(`Redis waits to be started as a replica: ${why}`, { cause: error });
    }
  }
}

/**
 * What every start file has; what the steps say about the same keys counts more. The role is not in it: it is decided anew
 * at each start, and the last good file must not bring back the one of its time.
 */
export function baseDirectives(
  { paths, bindAddress, podIp }: RedisAgentSettings,
  cluster: ClusterView,
): readonly Directive[] {
  const port = String(REDIS_PORT);
  return [
    ['bind', bindAddress || '0.0.0.0'],
    ['dir', paths.dataDir],
    ['unixsocket', paths.socket],
    ['unixsocketperm', '700'],
    ['appendonly', 'yes'],
    ['aof-use-rdb-preamble', 'yes'],
    ['appenddirname', AOF_FOLDER],
    ['dbfilename', DUMP],
    ['save', SAVE],
    ...(cluster.tls ? tlsDirectives(port) : ([['port', port]] as const)),
    ...(podIp === '' ? [] : ([['replica-announce-ip', podIp]] as const)),
  ];
}

const tlsDirectives = (port: string): readonly Directive[] => [
  ['tls-port', port],
  ['port', '0'],
  ['tls-auth-clients', 'optional'],
  ['tls-replication', 'yes'],
];
