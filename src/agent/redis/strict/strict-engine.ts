import type { KubeObject } from '../../../api/objects.ts';
import { EMPTY_PRIMARY, FENCED_INSTANCES } from '../../../api/redis-cluster/annotations.ts';
import { parseCluster } from '../../../domain/redis/parse-cluster.ts';
import type { Seen } from '../../engine.ts';
import { messageOf } from '../../run-agent.ts';
import { RedisEngine } from '../engine.ts';
import type { Instance } from '../instance.ts';
import type { PrepareContext } from '../steps/step.ts';
import { strictPass } from './strict-pass.ts';
import type { StrictSteps } from './strict-steps.ts';

/** The same six steps, word for word as the operator has them that Attune replaces, with what that does harm by. */
export class StrictRedisEngine extends RedisEngine {
  readonly #instance: Instance;
  readonly #steps: StrictSteps;
  #isStopping = false;

  constructor(instance: Instance, steps: StrictSteps) {
    super(instance);
    this.#instance = instance;
    this.#steps = steps;
  }

  /** There is no timer, and files wake nobody. */
  override get resyncMs(): undefined {
    return undefined;
  }

  override get folders(): readonly string[] {
    return [];
  }

  /** Any change of the object. */
  override wakingPart({ metadata }: KubeObject): string {
    return metadata.resourceVersion;
  }

  /**
   * That a connection is lost is no change of the object: with a `timeout` Redis ends them all the time. A Redis that has
   * ended has to be started, and one of somebody else's may have been started anew, without its password.
   */
  override async begin(wake: () => void): Promise<void> {
    const { settings } = this.#instance;
    await super.begin(() => {
      if (!this.#instance.mayRun || settings.mode === 'sidecar') wake();
    });
  }

  /** Without the object the pass fails, and nothing else happens in it. */
  override waiting(why: string): never {
    throw new Error(why);
  }

  /** Passes come one after the other. */
  override glance(): void {}

  protected override async once({ object, isGone }: Seen): Promise<{ readonly againAfterMs?: number | undefined }> {
    const { namespace, name } = this;
    if (isGone) this.waiting(`RedisCluster ${namespace}/${name} does not exist`);
    const instance = this.#instance;
    instance.cluster = parseCluster(object);
    const context = await instance.context(instance.cluster);
    this.#steps.learn(context);
    if (await this.#isFenced(object)) {
      // One signal in the life of a Redis, however often this is said.
      await instance
        .interrupt()
        .catch((error) => instance.log.warn('Redis could not be told to end', { error: messageOf(error) }));
      return {};
    }
    if (!instance.mayRun) await instance.start(daring(context), () => this.#isStopping);
    if (this.#isStopping) return {};
    // An agent that was killed while it stopped Redis has left them closed.
    await instance.fence.openWrites(instance.redis);
    const entry = await strictPass({ ...context, redis: instance.redis }, this.#steps, instance.pods);
    await instance.report(object, entry);
    return {};
  }

  /** Told when it begins, also to whoever asks whether this pod is ready. */
  async #isFenced(object: KubeObject): Promise<boolean> {
    const instance = this.#instance;
    const { podName: pod } = instance.settings;
    const annotation = object.metadata.annotations?.[FENCED_INSTANCES];
    const isFenced = isNamed(annotation, pod);
    const { changed } = await instance.fence.decide(isFenced ? annotation : undefined, pod);
    if (isFenced && changed) {
      instance.log.info('Pod is fenced, stopping redis-server');
      instance.event(parseCluster(object), 'Warning', 'InstanceFenced', `${pod} is fenced`);
    }
    return isFenced;
  }

  override async stop(): Promise<void> {
    this.#isStopping = true;
    await super.stop();
  }
}

/**
 * A primary starts also with nothing. Entries tell offsets here, but not how many keys there are: a replica of a cluster
 * that has just been made would seem to have data, and its primary would never start.
 */
function daring(context: PrepareContext): PrepareContext {
  const { cluster } = context;
  return { ...context, cluster: { ...cluster, allowDangerous: new Set([...cluster.allowDangerous, EMPTY_PRIMARY]) } };
}

/** By its own name only; an annotation that cannot be read fences nobody. */
function isNamed(annotation: string | undefined, pod: string): boolean {
  if (annotation === undefined) return false;
  try {
    const names: unknown = JSON.parse(annotation);
    return Array.isArray(names) && names.every((name) => typeof name === 'string') && names.includes(pod);
  } catch {
    return false;
  }
}
