import type { Cluster, Json, Write } from './cluster.ts';
import type { Random } from './history.ts';

/** What the pods of one workload may have started with, for each source. */
type Maybe = Map<string, Set<string>>;

interface Rollout {
  template: string;
  maybe: Maybe;
  /** Pods of earlier templates that the present rollout has not replaced yet. */
  readonly leftOver: Map<string, Maybe>;
  /** Pods are still being started. */
  isComing: boolean;
  readonly revision: number;
}

const REVISION = 'deployment.kubernetes.io/revision';
const LAGS_MS = [0, 1, 20];

/**
 * The plain statement that the engine is compared with: a pod has what its sources held when it was started, and a rollout
 * starts pods from the moment the template changes until it is complete. Nothing here knows of marks or records.
 */
export class Pods {
  readonly #cluster: Cluster;
  readonly #random: Random;
  readonly #rollouts = new Map<string, Rollout>();

  constructor(cluster: Cluster, random: Random) {
    this.#cluster = cluster;
    this.#random = random;
    cluster.onWrite((write) => this.#wrote(write));
  }

  /** Sources that some pod of a workload may have other data of than there is now. */
  outdated(namespace: string, name: string): readonly string[] {
    const { maybe } = this.#rollouts.get(`${namespace}/${name}`) ?? { maybe: new Map<string, Set<string>>() };
    return [...maybe].flatMap(([source, values]) => {
      const now = this.#valueOf(namespace, source);
      return values.size === 1 && values.has(now) ? [] : [`${source}: ${[...values].join('|')}, not ${now}`];
    });
  }

  #wrote({ plural, before, after }: Write): void {
    if (plural === 'configmaps') this.#dataChanged((after ?? before).metadata, after?.data.value ?? '');
    if (plural !== 'deployments') return;
    const { namespace, name, uid } = (after ?? before).metadata;
    if (!after || before?.metadata.uid !== uid) this.#rollouts.delete(`${namespace}/${name}`);
    if (!after || after.metadata.generation === before?.metadata.generation) return;
    // The controller notices a moment later, and sees what there is then.
    this.#cluster.clock.after(LAGS_MS[this.#random(LAGS_MS.length)] ?? 0, () => this.#react(namespace, name, uid));
  }

  #react(namespace: string, name: string, uid: string): void {
    const present = this.#cluster.find('deployments', namespace, name);
    if (present?.metadata.uid !== uid) return;
    const key = `${namespace}/${name}`;
    const revision = this.#rollouts.get(key)?.revision ?? 0;
    if (present.spec.paused !== true) this.#roll(key, namespace, present.spec.template);
    const rolled = this.#rollouts.get(key);
    if (rolled && rolled.revision !== revision) {
      const annotations = { [REVISION]: String(rolled.revision) };
      this.#cluster.patch('deployments', namespace, name, { metadata: { annotations } });
    }
    this.#complete(key, present);
  }

  #roll(key: string, namespace: string, template: Json): void {
    const text = JSON.stringify(template);
    const known = this.#rollouts.get(key);
    if (known?.template === text) return;
    const now: Maybe = new Map(sourcesOf(template).map((name) => [name, new Set([this.#valueOf(namespace, name)])]));
    const leftOver = new Map(known?.leftOver);
    if (known) leftOver.set(known.template, known.maybe);
    for (const [source, values] of leftOver.get(text) ?? []) for (const value of values) now.get(source)?.add(value);
    leftOver.delete(text);
    const revision = (known?.revision ?? 0) + 1;
    this.#rollouts.set(key, { template: text, maybe: now, leftOver, isComing: true, revision });
  }

  #dataChanged({ namespace, name }: Json, value: string): void {
    for (const [key, { isComing, maybe }] of this.#rollouts) {
      if (key.startsWith(`${namespace}/`) && isComing) maybe.get(name)?.add(value);
    }
  }

  /** Some time later the status says so, with the version of the rollout, as the Deployment controller does. */
  #complete(key: string, { metadata: { namespace, name, generation } }: Json): void {
    const cluster = this.#cluster;
    cluster.clock.after([0, 20, 500, 2500][this.#random(4)] ?? 0, () => {
      const present = cluster.find('deployments', namespace, name);
      if (present?.metadata.generation !== generation) return;
      const rollout = this.#rollouts.get(key);
      if (rollout && present.spec.paused !== true) {
        rollout.isComing = false;
        rollout.leftOver.clear();
      }
      const replicas = present.spec.replicas ?? 1;
      // A rollout that was paused half-way stays so, and shows it.
      const isRolled = rollout?.template === JSON.stringify(present.spec.template) && !rollout.isComing;
      cluster.update('deployments', namespace, name, (object) => ({
        ...object,
        status: {
          observedGeneration: generation,
          replicas,
          updatedReplicas: isRolled ? replicas : 0,
          availableReplicas: replicas,
        },
      }));
    });
  }

  #valueOf(namespace: string, name: string): string {
    return this.#cluster.find('configmaps', namespace, name)?.data.value ?? '';
  }
}

const sourcesOf = (template: Json): string[] => [
  ...template.spec.containers[0].envFrom.map((from: Json) => from.configMapRef.name),
  ...(template.metadata.labels?.reads?.split(' ') ?? []),
];
