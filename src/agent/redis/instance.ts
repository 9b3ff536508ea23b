import type { KubeObject } from '../../api/objects.ts';
import { REDIS_CLUSTERS } from '../../api/resources.ts';
import type { ClusterView, InstanceEntry, KeyStatus } from '../../domain/redis/cluster-view.ts';
import { parseInfo } from '../../domain/redis/info.ts';
import { REDIS_PORT } from '../../domain/redis/role.ts';
import { awayEntry } from '../../domain/redis/status-patch.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { EventPost } from '../../kube/events/event-post.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { pause } from '../../runtime/backoff.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import type { RedisAgentMetrics } from '../../telemetry/metric-tables/redis-agent.ts';
import { readSnapshot } from '../files/read-snapshot.ts';
import { messageOf } from '../run-agent.ts';
import { connectRedis } from './connection/connect.ts';
import { LocalRedis } from './connection/local-redis.ts';
import type { RedisTarget } from './connection/target.ts';
import { Pods } from './pods.ts';
import type { ServerEnd } from './server/processes/follow.ts';
import { createTryServer } from './server/run-trial.ts';
import { ServerProcess } from './server/server-process.ts';
import type { RedisAgentSettings } from './settings.ts';
import { ForeignServer } from './sidecar.ts';
import { Starter } from './start.ts';
import { StatusWriter } from './status/status-writer.ts';
import { createConfigStep } from './steps/config/config-step.ts';
import { FenceDecision } from './steps/fence.ts';
import { replicationNow } from './steps/role.ts';
import { createSecretsStep } from './steps/secrets/secrets-step.ts';
import type { PrepareContext } from './steps/step.ts';
import { createTlsStep } from './steps/tls/tls-step.ts';
import type { StrictSteps } from './strict/strict-steps.ts';
import { runningPart, type Steps, type Tuned } from './tune.ts';

export interface InstanceDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: RedisAgentMetrics;
  readonly post: (event: EventPost) => void;
}

const COMPONENT = 'redis-operator-instance';
/** How long Redis may take to say how many keys it has before it is told to end. */
const COUNT_MS = 1000;

/** The Redis of this pod with everything that is done to it; what is to be done, and when, the engine decides. */
export class Instance {
  readonly settings: RedisAgentSettings;
  readonly log: Log;
  readonly clock: Clock;
  readonly redis: LocalRedis;
  readonly pods: Pods;
  readonly fence: FenceDecision;
  readonly steps: Steps;
  readonly #deps: InstanceDeps;
  readonly #server: ServerProcess | undefined;
  readonly #foreign: ForeignServer;
  readonly #starter: Starter | undefined;
  readonly #status: StatusWriter;
  readonly #ended = Promise.withResolvers<number>();
  #rotating = false;
  /** What Redis held when it was stopped: the last entry may be older. */
  #held: Pick<InstanceEntry, 'keys' | 'replicationOffset'> = {};
  /** As it was seen last. */
  cluster: ClusterView | undefined;
  /** The connection to Redis was lost. */
  onLost = (): void => {};

  /** `strict`: secrets and certificates are prepared and known as that has them. */
  constructor(settings: RedisAgentSettings, deps: InstanceDeps, strict?: StrictSteps) {
    const { client, clock, log } = deps;
    this.settings = settings;
    this.#deps = deps;
    this.log = log;
    this.clock = clock;
    this.pods = new Pods(client, settings, clock);
    this.fence = new FenceDecision(settings.paths.stateDir, log, clock);
    const tls = createTlsStep(settings, { redisTarget: () => this.#tcpTarget() });
    const upstreamTarget = (host: string, port: number): RedisTarget => ({ host, port, tls: this.#tlsOptions() });
    const secrets = createSecretsStep(settings, { upstreamTarget, localTarget: () => this.#target() });
    this.steps = { config: createConfigStep(settings), secrets, tls };
    this.redis = new LocalRedis({
      target: () => this.#target(),
      credentials: () => (strict ?? secrets).credentials(),
      onLost: () => this.onLost(),
    });
    this.#foreign = new ForeignServer(clock);
    if (settings.mode === 'parent') {
      this.#server = new ServerProcess({ settings, log, clock, onEnd: (end) => this.#redisEnded(end) });
      this.#starter = new Starter(settings, this.#server, this.pods, [
        strict?.tls ?? tls,
        this.steps.config,
        strict?.secrets ?? secrets,
      ]);
    }
    const { podName: pod, statusIntervalMs: intervalMs, strict: isWhole } = settings;
    this.#status = new StatusWriter({ client, clock, pod, intervalMs, isWhole });
  }

  /** Redis has ended though nobody wanted it to; the exit code for the agent. */
  get ended(): Promise<number> {
    return this.#ended.promise;
  }

  /** False: it is known not to run. */
  get mayRun(): boolean {
    return this.#server?.running ?? true;
  }

  get isStopped(): boolean {
    return !this.mayRun;
  }

  /** '': Redis does not say. */
  async role(): Promise<string> {
    return await replicationNow(this.redis).then(
      ({ role }) => role,
      () => '',
    );
  }

  async adopt(): Promise<boolean> {
    return (await this.#server?.adopt()) ?? false;
  }

  /** What the steps work with. */
  async context(cluster: ClusterView): Promise<PrepareContext> {
    // Nobody waits for others in strict.
    return await this.#read(cluster, this.settings.strict ? new Map() : await this.#peers(cluster));
  }

  /** Whatever opens Redis; without the API server, for which a fence does not wait. */
  async learn(cluster: ClusterView): Promise<void> {
    await this.#read(cluster, new Map());
  }

  async #read(cluster: ClusterView, peers: PrepareContext['peers']): Promise<PrepareContext> {
    const { settings, clock, log } = this;
    const { secretsDir, tlsDir } = settings.paths;
    const [secrets, tls] = await Promise.all([readSnapshot(secretsDir), readSnapshot(tlsDir)]);
    const context: PrepareContext = {
      settings,
      cluster,
      secrets,
      tls,
      clock,
      log,
      tryServer: createTryServer({ redisServer: settings.redisServer, connect: connectRedis }),
      peers,
      event: (type, reason, message) => this.event(cluster, type, reason, message),
    };
    // Our own connection needs it before any step.
    this.steps.secrets.learn(context);
    return context;
  }

  /** Says what people should know of it. Does nothing where `isOff` says so at the last moment. */
  async start(context: PrepareContext, isOff: () => boolean): Promise<string | undefined> {
    if (isOff()) return undefined;
    const said = await this.#starter?.start(context);
    this.log.info('redis-server runs', { pid: this.#server?.pid });
    return said;
  }

  /** No writes from now on; and what this agent may stop, stops within the deadline. False: it has to be tried again. */
  async fenceOff(): Promise<boolean> {
    const { redis, settings, fence } = this;
    const began = this.clock.now();
    const left = (): number => Math.max(0, settings.stopTimeoutMs - (this.clock.now() - began));
    if (!this.mayRun) return true;
    const isClosed = await fence.closeWrites(redis);
    // A slow disk is no reason not to know what it held; a Redis that hangs must not delay the signal.
    await Promise.race([this.#count(), pause(this.clock, COUNT_MS, new AbortController().signal)]);
    if (this.#server) {
      await this.#server.stop(left());
      redis.close();
      return true;
    }
    const mayComeBack = await this.#foreign.stop(redis, left()).catch((error: unknown) => {
      this.log.debug('Redis could not be told to end', { error: messageOf(error) });
      return true;
    });
    return isClosed && !mayComeBack;
  }

  async #count(): Promise<void> {
    const part = await runningPart(this.redis).catch(() => undefined);
    if (part) this.#held = { keys: part.keys, replicationOffset: part.replicationOffset };
  }

  /** A Redis that had to read a dump first goes on with its append-only file, unless somebody wants none. */
  async keepAof({ redis: wanted }: ClusterView): Promise<void> {
    const isOurs = this.#server !== undefined && ![...wanted.keys()].some((key) => key.toLowerCase() === 'appendonly');
    if (!isOurs) return;
    const info = parseInfo(String(await this.redis.send('INFO', 'persistence')));
    if (info.get('aof_enabled') !== '0' || info.get('loading') !== '0') return;
    await this.redis.send('CONFIG', 'SET', 'appendonly', 'yes').then(
      () => this.log.info('the append-only file is on again'),
      (error: unknown) => this.log.warn('the append-only file could not be begun', { error: messageOf(error) }),
    );
  }

  /** As the operator does it that Attune replaces: one SIGINT. */
  async interrupt(): Promise<void> {
    if (this.#server) this.#server.signal('SIGINT');
    else await this.#foreign.interrupt(this.redis);
  }

  /** Nothing is started from now on. */
  async close(): Promise<void> {
    await this.#server?.close();
  }

  async stop(): Promise<void> {
    if (this.#server && this.mayRun) await this.fenceOff();
    this.redis.close();
  }

  /** Tells that Redis does not answer, and why. */
  async reportAway(object: KubeObject, now: Parameters<typeof awayEntry>[1]): Promise<number | undefined> {
    return await this.report(object, awayEntry({ ...this.#status.last(object), ...this.#held }, now));
  }

  /** Says after how long numbers may be written, where they have to wait. */
  async report(object: KubeObject, entry: InstanceEntry): Promise<number | undefined> {
    const { metrics } = this.#deps;
    try {
      const { waitMs, isWritten } = await this.#status.report(object, entry);
      if (isWritten) metrics.increment('attune_agent_status_patches_total', { result: 'success' });
      return waitMs;
    } catch (error) {
      metrics.increment('attune_agent_status_patches_total', { result: 'error' });
      // It was deleted a moment ago.
      if (KubeError.is(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  event(cluster: ClusterView, type: EventPost['type'], reason: string, message: string): void {
    const { group, version, kind } = REDIS_CLUSTERS;
    const { namespace, name, uid } = cluster;
    this.log.info(message, { event: reason });
    const regarding = { apiVersion: `${group}/${version}`, kind, namespace, name, uid };
    this.#deps.post({ regarding, type, reason, message, component: COMPONENT });
  }

  count({ config = {}, credentials }: InstanceEntry, changed: Tuned['changed']): void {
    const { metrics } = this.#deps;
    const states = Object.values(config).map(({ state }) => state);
    for (const state of ['Applied', 'Refused', 'RestartNeeded'] as const satisfies readonly KeyStatus['state'][])
      metrics.set('attune_agent_keys', { state }, states.filter((each) => each === state).length);
    for (const [what, times] of Object.entries(changed))
      metrics.increment('attune_agent_live_changes_total', { what }, times);
    const isSettled = credentials?.phase === 'Settled' && this.#rotating;
    if (isSettled) metrics.increment('attune_agent_live_changes_total', { what: 'password' });
    this.#rotating = credentials?.phase !== undefined && credentials.phase !== 'Settled';
  }

  /** The entries of pods that are gone, or fenced, are nobody's to wait for. */
  async #peers({ instances }: ClusterView): Promise<ReadonlyMap<string, InstanceEntry>> {
    const others = [...instances].filter(([name, { state }]) => name !== this.settings.podName && state !== 'Fenced');
    const isThere = await Promise.all(others.map(([name]) => this.pods.exists(name)));
    return new Map(others.filter((_, at) => isThere[at]));
  }

  /** One that was told to end, be it by an earlier agent, is started again if it is to run. */
  #redisEnded({ code, signal, asked }: ServerEnd): void {
    this.redis.close();
    if (asked) {
      this.onLost();
      return;
    }
    this.log.error('redis-server has ended by itself', { code, signal });
    void this.#server?.close();
    this.#ended.resolve(code === 0 ? 0 : 1);
  }

  #target(): RedisTarget {
    const { socket } = this.settings.paths;
    return socket === '' ? { ...this.#tcpTarget(), tls: this.#tlsOptions() } : { path: socket };
  }

  #tcpTarget(): { readonly host: string; readonly port: number } {
    const { mode, bindAddress, redisAddress } = this.settings;
    return mode === 'sidecar' ? redisAddress : { host: bindAddress || '127.0.0.1', port: REDIS_PORT };
  }

  #tlsOptions(): { readonly ca: Buffer | undefined } | undefined {
    return this.cluster?.tls ? { ca: this.steps.tls.trustedCa() } : undefined;
  }
}
