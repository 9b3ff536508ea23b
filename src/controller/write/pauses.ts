import type { AnnotationKeys } from '../../api/annotations.ts';
import { kindNamed, type WorkloadKind } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/objects.ts';
import type { Outcome } from '../../domain/outcome/outcome.ts';
import { pauseStep } from '../../domain/plan/pause.ts';
import { patchOf } from '../../domain/template/patch.ts';
import { type Workload, type WorkloadKey, workloadKey } from '../../domain/workload/workload.ts';
import type { KubeClient } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import type { Clock } from '../../runtime/clock.ts';
import { KeyedQueue } from '../../runtime/queue.ts';
import { runWorkers } from '../../runtime/worker.ts';
import { setbackOf } from './setback.ts';

export interface PausesDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly keys: AnnotationKeys;
  readonly fieldManager: string;
  readonly mayWrite: () => boolean;
  /** Whether marks of pauses that others have ended are taken away there; upstream leaves them. */
  readonly tidies: (namespace: string) => boolean;
  /** The newest we know; undefined: gone. */
  readonly workload: (key: WorkloadKey) => Workload | undefined;
  readonly seen: (object: KubeObject) => void;
  readonly report: {
    tell(outcome: Outcome): void;
  };
}

const DEPLOYMENTS = kindNamed('Deployment') as WorkloadKind;
const WORKERS = 4;

/**
 * Ends pauses on time. All that is needed stands on the Deployment itself, so a pause outlives the process that began
 * it: whoever sees the mark, resumes.
 */
export class Pauses {
  readonly #deps: PausesDeps;
  readonly #queue: KeyedQueue<WorkloadKey>;
  /** The pauses that were told, by their beginning. */
  readonly #told = new Map<WorkloadKey, string | undefined>();
  readonly #tidied = new Map<WorkloadKey, string | undefined>();

  constructor(deps: PausesDeps) {
    this.#deps = deps;
    this.#queue = new KeyedQueue<WorkloadKey>({ clock: deps.clock });
    deps.client.onRecovery((lastedMs) => this.#queue.forgive(deps.clock.now() - lastedMs));
  }

  /** Looks at every newest version of a workload. */
  seen(workload: Workload): void {
    if (workload.ref.kind !== 'Deployment') return;
    const key = workloadKey(workload.ref);
    this.#tell(key, workload);
    if (!workload.paused) {
      if (this.#isLeftOver(workload)) this.#queue.add(key);
      return;
    }
    const step = this.#stepOf(workload);
    if (step.do === 'resume') this.#queue.add(key);
    if (step.do === 'hold') this.#holdUntil(key, step.untilMs);
  }

  async run(term: AbortSignal): Promise<void> {
    const options = {
      workers: WORKERS,
      clock: this.#deps.clock,
      handle: (key: WorkloadKey) => this.#resume(key),
      failed: (key: WorkloadKey, error: unknown) => {
        if (!KubeError.is(error)) throw error;
        this.#queue.retry(key, setbackOf(error));
        const workload = this.#deps.workload(key);
        if (!workload || error.status === 409) return;
        this.#deps.report.tell({ is: 'not-resumed', workload, error: error.message });
      },
    };
    await runWorkers(this.#queue, options, term);
    // What becomes of them from here on, another leader tells.
    this.#told.clear();
  }

  async #resume(key: WorkloadKey): Promise<void> {
    const { client, keys, fieldManager, report, mayWrite, seen } = this.#deps;
    const workload = this.#deps.workload(key);
    if (!workload) this.#told.delete(key);
    if (!workload || !mayWrite()) return;
    const step = this.#stepOf(workload);
    if (step.do === 'hold') this.#holdUntil(key, step.untilMs);
    const isLeftOver = this.#isLeftOver(workload);
    if (step.do !== 'resume' && !isLeftOver) return;
    // What is seen from here on is our own doing.
    this.#told.delete(key);
    const { type, body } = patchOf(DEPLOYMENTS, workload, undefined, { keys, resume: true });
    try {
      seen(await client.patch<KubeObject>(DEPLOYMENTS, workload.ref, body, { type, fieldManager }));
    } catch (error) {
      if (KubeError.is(error) && error.status === 404) return;
      throw error;
    }
    if (isLeftOver) this.#tidied.set(key, workload.annotations[keys.pausedAt]);
    else report.tell({ is: 'resumed', workload, by: 'us' });
  }

  /** The beginning of a pause, and an end that is not our doing. What arrives late is no news. */
  #tell(key: WorkloadKey, workload: Workload): void {
    const { keys, report, mayWrite } = this.#deps;
    const isNewest = this.#deps.workload(key)?.resourceVersion === workload.resourceVersion;
    if (!isNewest || !mayWrite()) return;
    if (!workload.paused && this.#told.delete(key)) report.tell({ is: 'resumed', workload, by: 'another writer' });
    const step = this.#stepOf(workload);
    const pausedAt = workload.annotations[keys.pausedAt];
    if (step.do !== 'hold' || this.#told.get(key) === pausedAt) return;
    this.#told.set(key, pausedAt);
    report.tell({ is: 'paused', workload, until: step.untilMs });
  }

  /** The end is a moment of the server's time, which the annotation was written in. */
  #holdUntil(key: WorkloadKey, untilMs: number): void {
    const { client, clock } = this.#deps;
    this.#queue.schedule(key, clock.now() + untilMs - client.serverNow());
  }

  /**
   * Somebody else ended our pause, and the mark of it is still there: it would make their own next pause look like ours.
   * Taken away once; whoever puts it back means it.
   */
  #isLeftOver({ ref, paused, annotations }: Workload): boolean {
    const { keys, tidies } = this.#deps;
    const mark = annotations[keys.pausedAt];
    return tidies(ref.namespace) && !paused && mark !== undefined && this.#tidied.get(workloadKey(ref)) !== mark;
  }

  #stepOf(workload: Workload) {
    const { client, keys } = this.#deps;
    const pausedAt = workload.annotations[keys.pausedAt];
    return pauseStep(
      { paused: workload.paused, pausedAt, periodMs: workload.intent.overrides.pausePeriodMs },
      client.serverNow(),
    );
  }
}
