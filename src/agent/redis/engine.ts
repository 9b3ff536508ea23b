import type { KubeObject } from '../../api/objects.ts';
import { FENCED_INSTANCES } from '../../api/redis-cluster/annotations.ts';
import { REDIS_CLUSTERS } from '../../api/resources.ts';
import type { ClusterView, InstanceEntry, Problem } from '../../domain/redis/cluster-view.ts';
import { fenceOf } from '../../domain/redis/fence.ts';
import { parseCluster } from '../../domain/redis/parse-cluster.ts';
import { wakingPart } from '../../domain/redis/wake.ts';
import { pause } from '../../runtime/backoff.ts';
import type { Engine, Seen } from '../engine.ts';
import { messageOf } from '../run-agent.ts';
import { RedisRefusal, RedisUnreachable } from './connection/redis.ts';
import type { Instance } from './instance.ts';
import { StartRefused } from './start.ts';
import { News } from './status/news.ts';
import type { PrepareContext } from './steps/step.ts';
import { CalledOff, standing, type Tuned, tune } from './tune.ts';

// How long a pass may go on that is under way when the agent is told to end.
const FAREWELL_MS = 1000;
// The last word in the status: by what a pod held others know that a primary is empty.
const LAST_WORD_MS = 3000;
// How long a Redis that somebody else starts may accept writes while its pod is fenced.
const FENCED_LOOK_MS = 1000;

/** Writes this pod's entry. */
interface Report {
  running(entry: InstanceEntry): Promise<Again>;
  away(now: Pick<InstanceEntry, 'state' | 'message' | 'observedGeneration'>): Promise<Again>;
}

type Again = { readonly againAfterMs?: number | undefined };

/**
 * Keeps the Redis of a pod in tune with its RedisCluster: fence, role, configuration, secrets, certificates, status, in this
 * order.
 *
 * Invariants
 *  1. A fenced Redis accepts no write, and one that this agent has started does not run.
 *  2. What the next start reads was accepted before.
 *  3. Nothing is sent to Redis, to a file or to the server where nothing has changed.
 */
export class RedisEngine implements Engine {
  readonly resource = REDIS_CLUSTERS;
  readonly #instance: Instance;
  readonly #log: Instance['log'];
  #object: KubeObject | undefined;
  readonly #news = new News();
  #passing: Promise<unknown> = Promise.resolve();
  #isStopping = false;

  constructor(instance: Instance) {
    this.#instance = instance;
    this.#log = instance.log;
  }

  get namespace(): string {
    return this.#instance.settings.podNamespace;
  }

  get name(): string {
    return this.#instance.settings.clusterName;
  }

  get folders(): readonly string[] {
    const { secretsDir, tlsDir } = this.#instance.settings.paths;
    return [secretsDir, tlsDir];
  }

  get resyncMs(): number | undefined {
    return this.#instance.settings.resyncMs;
  }

  get stateDir(): string {
    return this.#instance.settings.paths.stateDir;
  }

  get ended(): Promise<number> {
    return this.#instance.ended;
  }

  wakingPart(object: KubeObject): string {
    return wakingPart(object, this.#instance.settings.podName);
  }

  async begin(wake: () => void): Promise<void> {
    this.#instance.onLost = wake;
    if (await this.#instance.adopt()) this.#log.info('redis-server runs already, and is kept');
  }

  waiting(why: string): void {
    this.#news.about('waiting', why, () => this.#log.warn(`${why}: Redis is left as it is`));
  }

  glance(object: KubeObject): void {
    const { fence, redis, mayRun } = this.#instance;
    const isNew = !fence.isFenced && !this.#isStopping && mayRun;
    if (isNew && fenceOf(object.metadata.annotations?.[FENCED_INSTANCES], this.#pod) === 'fenced') fence.comes(redis);
  }

  async pass(seen: Seen): Promise<Again> {
    const passing = this.once(seen);
    this.#passing = passing.catch(() => undefined);
    return await passing;
  }

  /** One pass; `stop` waits for it, and then nothing is to be started any more. */
  protected async once({ object, isGone }: Seen): Promise<Again> {
    if (this.#isStopping) return {};
    this.#object = object;
    const cluster = parseCluster(object);
    this.#instance.cluster = cluster;
    // Of a deleted object there is nothing to say; Redis goes on as before.
    const report: Report = {
      running: async (entry) => ({ againAfterMs: isGone ? undefined : await this.#instance.report(object, entry) }),
      away: async (now) => ({ againAfterMs: isGone ? undefined : await this.#instance.reportAway(object, now) }),
    };
    if (isGone) this.waiting(`RedisCluster ${cluster.namespace}/${cluster.name} is deleted`);
    else this.#news.about('waiting', undefined, () => {});
    const { fence, changed } = await this.#instance.fence.decide(
      object.metadata.annotations?.[FENCED_INSTANCES],
      this.#pod,
    );
    this.#warn(cluster, 'FenceUnreadable', fence === 'unreadable' ? this.#unreadable() : undefined);
    if (this.#instance.fence.isFenced) return await this.#fenced(cluster, changed, report);
    return await this.#unfenced(cluster, report);
  }

  async #fenced(cluster: ClusterView, isNew: boolean, report: Report): Promise<Again> {
    if (isNew) {
      this.#log.warn('Pod is fenced, stopping redis-server', { pod: this.#pod });
      this.#instance.event(cluster, 'Warning', 'InstanceFenced', `${this.#pod} is fenced: redis-server is stopped`);
    }
    await this.#instance.learn(cluster);
    const isDone = await this.#instance.fenceOff();
    const message = this.#instance.isStopped
      ? undefined
      : 'whoever starts Redis may do so again: writes are closed then';
    const now = { state: 'Fenced', message, observedGeneration: cluster.generation };
    if (isDone) return await report.away(now);
    // A Redis of somebody else's may come back at any time, and nobody tells.
    await report
      .away(now)
      .catch((error: unknown) => this.#log.error('status not written', { error: messageOf(error) }));
    return { againAfterMs: FENCED_LOOK_MS };
  }

  async #unfenced(cluster: ClusterView, report: Report): Promise<Again> {
    const context = await this.#instance.context(cluster);
    try {
      await this.#run(cluster, context);
    } catch (error) {
      return await this.#notRunning(cluster, error, report);
    }
    if (!this.#instance.mayRun || this.#isOff()) return {};
    this.#warn(cluster, 'StartRefused', undefined);
    this.#warn(cluster, 'SpecRefused', inWords(cluster.problems));
    const running = { ...context, redis: this.#instance.redis };
    let tuned: Tuned;
    try {
      tuned = await tune(running, this.#instance.steps, this.#instance.pods, () => this.#isOff());
    } catch (error) {
      if (error instanceof CalledOff) return {};
      const now = standing([{ where: 'Redis', what: whyAway(error) }]);
      return await this.#away(cluster, error, () => report.away(now));
    }
    const { entry, changed, failure, failed, againAfterMs } = tuned;
    const isRole = ({ where }: Problem): boolean => where === 'role';
    this.#warn(cluster, 'RedisUnreachable', undefined);
    this.#warn(cluster, 'RoleRefused', inWords(failed.filter(isRole)));
    this.#warn(cluster, 'StepFailed', inWords(failed.filter((each) => !isRole(each))));
    this.#instance.count(entry, changed);
    const later = (await report.running(entry)).againAfterMs;
    if (failure !== undefined) throw failure;
    return { againAfterMs: Math.min(againAfterMs ?? Number.POSITIVE_INFINITY, later ?? Number.POSITIVE_INFINITY) };
  }

  /** It could not be started, or does not answer. */
  async #notRunning(cluster: ClusterView, error: unknown, report: Report): Promise<never> {
    const { generation: observedGeneration } = cluster;
    const isRefused = error instanceof StartRefused;
    if (isRefused) this.#warn(cluster, 'StartRefused', error.message);
    const isStart = isRefused || !this.#instance.mayRun;
    const now = isStart
      ? { state: isRefused ? 'Degraded' : 'Starting', message: messageOf(error) }
      : standing([{ where: 'Redis', what: whyAway(error) }]);
    return await this.#away(cluster, error, () => report.away({ ...now, observedGeneration }));
  }

  /** Redis runs, and takes writes. */
  async #run(cluster: ClusterView, context: PrepareContext): Promise<void> {
    const { fence, redis } = this.#instance;
    if (!this.#instance.mayRun) {
      const said = await this.#instance.start(context, () => this.#isStopping);
      if (said !== undefined) this.#warn(cluster, 'StartFileRefused', said);
    }
    if (!this.#instance.mayRun || this.#isOff()) return;
    await fence.openWrites(redis);
    await this.#instance.keepAof(cluster);
  }

  /** Tells of an error that ends the pass; that it cannot be written into the status is no reason to forget it. */
  async #away(cluster: ClusterView, error: unknown, report: () => Promise<unknown>): Promise<never> {
    const isAway = error instanceof RedisUnreachable || isLockedOut(error);
    if (isAway) this.#warn(cluster, 'RedisUnreachable', whyAway(error));
    await report().catch((problem: unknown) => this.#log.error('status not written', { error: messageOf(problem) }));
    throw error;
  }

  #unreadable(): string {
    const { isFenced } = this.#instance.fence;
    return `annotation ${FENCED_INSTANCES} must be a JSON array of pod names like ["${this.#pod}"]; ${isFenced ? 'this pod stays fenced' : 'this pod stays as it is'}`;
  }

  /** An Event for what is wrong, once; undefined: it is right. */
  #warn(cluster: ClusterView, reason: string, what: string | undefined): void {
    this.#news.about(reason, what, (news) =>
      this.#instance.event(cluster, 'Warning', reason, news.startsWith(this.#pod) ? news : `${this.#pod}: ${news}`),
    );
  }

  /** What is under way is to be left: something more urgent has come. */
  #isOff(): boolean {
    return this.#isStopping || this.#instance.fence.isComing;
  }

  get #pod(): string {
    return this.#instance.settings.podName;
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#instance.close();
    const never = new AbortController().signal;
    await Promise.race([this.#passing, pause(this.#instance.clock, FAREWELL_MS, never)]);
    await this.#instance.stop();
    const object = this.#object;
    if (!object || this.#instance.settings.mode === 'sidecar') return;
    const farewell = this.#instance.reportAway(object, { state: 'Stopped' }).catch(() => undefined);
    await Promise.race([farewell, pause(this.#instance.clock, LAST_WORD_MS, never)]);
  }
}

const inWords = (problems: readonly Problem[]): string | undefined =>
  problems.length === 0 ? undefined : problems.map(({ where, what }) => `${where}: ${what}`).join('; ');

const isLockedOut = (error: unknown): boolean =>
  error instanceof RedisRefusal && ['WRONGPASS', 'NOAUTH'].includes(error.code);

/** A sidecar has no login of its own: where the Secret has changed while no agent ran, only people know the way in. */
const whyAway = (error: unknown): string =>
  isLockedOut(error)
    ? `${messageOf(error)}: put the password that Redis has back into the Secret until this pod is connected, then change it again`
    : messageOf(error);
