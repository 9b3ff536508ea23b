import type { KubeObject } from '../../api/objects.ts';
import { PODS } from '../../api/resources.ts';
import type { PrimaryPod } from '../../domain/redis/role.ts';
import type { KubeClient } from '../../kube/client.ts';
import { unlessAbsent } from '../../kube/kube-error.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { RedisAgentSettings } from './settings.ts';

interface Pod extends KubeObject {
  readonly status?: { readonly podIP?: string };
}

// It mostly answers in milliseconds; what can be done without it does not wait for longer.
const ANSWER_MS = 3000;

/** The pods of a cluster, by the only right that an agent has on them: to get one by its name. */
export class Pods {
  readonly #client: Pick<KubeClient, 'get'>;
  readonly #namespace: string;
  readonly #clock: Clock;
  readonly #keepMs: number;
  /** Then a pod that is being deleted counts as one that stays. */
  readonly #isStrict: boolean;
  readonly #own: { readonly name: string; readonly ip: string };
  readonly #known = new Map<string, { readonly exists: boolean; readonly ip: string; readonly at: number }>();

  /** Whether a pod exists is believed for as long as a resync takes. */
  constructor(client: Pick<KubeClient, 'get'>, settings: RedisAgentSettings, clock: Clock) {
    this.#client = client;
    this.#namespace = settings.podNamespace;
    this.#clock = clock;
    this.#keepMs = settings.resyncMs;
    this.#isStrict = settings.strict;
    this.#own = { name: settings.podName, ip: settings.podIp };
  }

  /** The address of this pod; '': not known. */
  async ownIp(): Promise<string> {
    const { name, ip } = this.#own;
    return ip || this.#known.get(name)?.ip || ((await this.get(name))?.ip ?? '');
  }

  /** Undefined: there is no such pod. */
  async get(name: string): Promise<PrimaryPod | undefined> {
    const signal = AbortSignal.timeout(ANSWER_MS);
    const pod = await this.#client.get<Pod>(PODS, { namespace: this.#namespace, name }, { signal }).catch(unlessAbsent);
    this.#known.set(name, { exists: pod !== undefined, ip: pod?.status?.podIP ?? '', at: this.#clock.now() });
    if (!pod) return undefined;
    const isTerminating = pod.metadata.deletionTimestamp !== undefined && !this.#isStrict;
    return { ip: pod.status?.podIP ?? '', isTerminating };
  }

  /** A pod of which nothing was ever learned counts as there: to wait for it does less harm. */
  async exists(name: string): Promise<boolean> {
    const known = this.#known.get(name);
    if (known && this.#clock.now() - known.at < this.#keepMs) return known.exists;
    return await this.get(name).then(
      (pod) => pod !== undefined,
      () => {
        // Not asked again at once: a pass must not wait for a server that is away.
        const { exists, ip } = known ?? { exists: true, ip: '' };
        this.#known.set(name, { exists, ip, at: this.#clock.now() });
        return exists;
      },
    );
  }

  /** The addresses of others that were seen last, for whoever asks while the API server is away. */
  get addresses(): readonly string[] {
    return [...this.#known].flatMap(([name, { ip }]) => (name === this.#own.name ? [] : ip || []));
  }
}
