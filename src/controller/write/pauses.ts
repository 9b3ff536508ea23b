import type { AnnotationKeys } from '../../api/annotations.ts';
import { FIELD_MANAGER } from '../../api/field-manager.ts';
import { kindNamed, type WorkloadKind } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/objects.ts';
import { pauseStep } from '../../domain/plan/pause.ts';
import { patchOf } from '../../domain/template/patch.ts';
import { type Workload, type WorkloadKey, workloadKey } from '../../domain/workload/workload.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { KeyedQueue } from '../../runtime/queue.ts';
import { runWorkers } from '../../runtime/worker.ts';
import type { ControllerDeps } from '../controller.ts';
import type { Report } from '../report/report.ts';
import { setbackOf } from './setback.ts';

export interface PausesDeps extends Pick<ControllerDeps, 'client' | 'clock'> {
  readonly keys: AnnotationKeys;
  readonly mayWrite: () => boolean;
  /** Whether the mark of a pause that another writer has ended is removed in this namespace; upstream leaves it. */
  readonly removesMarks: (namespace: string) => boolean;
  /** The newest version that we know; undefined: deleted. */
  readonly workload: (key: WorkloadKey) => Workload | undefined;
  readonly seen: (object: KubeObject) => void;
  readonly report: Pick<Report, 'tell'>;
}

const DEPLOYMENTS = kindNamed('Deployment') as WorkloadKind;
const WORKERS = 4;
// A reloader's mark is a time. Anything longer is not a reloader's, and would be kept with its workload.
const MAX_MARK = 64;

/**
 * Ends pauses on time. The mark on the Deployment holds all that is needed, so the pause of one process can be ended by the
 * next.
 */
export class Pauses {
  readonly #deps: PausesDeps;
  readonly #queue: KeyedQueue<WorkloadKey>;
  /** When the pauses that were reported began. */
  readonly #reported = new Map<WorkloadKey, string | undefined>();
  /** Marks that we have removed once. */
  readonly #removedMarks = new Map<WorkloadKey, string | undefined>();

  constructor(deps: PausesDeps) {
    this.#deps = deps;
    this.#queue = new KeyedQueue<WorkloadKey>({ clock: deps.clock });
    deps.client.onRecovery((lastedMs) => this.#queue.forgive(deps.clock.now() - lastedMs));
  }

  /** To be called with every new version of a workload. */
  seen(workload: Workload): void {
    if (workload.ref.kind !== 'Deployment') return;
    const key = workloadKey(workload.ref);
    this.#reportPause(key, workload);
    const step = this.#stepOf(workload);
    if (step.do === 'resume' || this.#isLeftOver(workload)) this.#queue.add(key);
    if (step.do === 'hold') this.#holdUntil(key, step.untilMs);
  }

  /** The workload was deleted. */
  gone({ ref }: Workload): void {
    const key = workloadKey(ref);
    this.#reported.delete(key);
    this.#removedMarks.delete(key);
  }

  async run(term: AbortSignal): Promise<void> {
    const handle = (key: WorkloadKey): Promise<void> => this.#resume(key);
    const failed = (key: WorkloadKey, error: unknown): void => {
      if (!KubeError.is(error)) throw error;
      this.#queue.retry(key, setbackOf(error));
      const workload = this.#deps.workload(key);
      if (!workload || error.status === 409) return;
      this.#deps.report.tell({ is: 'not-resumed', workload, error: error.message });
    };
    await runWorkers(this.#queue, { workers: WORKERS, clock: this.#deps.clock, handle, failed }, term);
    // What becomes of them from here on, another leader tells.
    this.#reported.clear();
  }

  async #resume(key: WorkloadKey): Promise<void> {
    const { client, keys, report, mayWrite, seen } = this.#deps;
    const workload = this.#deps.workload(key);
    if (!workload) this.#reported.delete(key);
    if (!workload || !mayWrite()) return;
    const step = this.#stepOf(workload);
    if (step.do === 'hold') this.#holdUntil(key, step.untilMs);
    const isLeftOver = this.#isLeftOver(workload);
    if (step.do !== 'resume' && !isLeftOver) return;
    // The end that is seen next is our own: it is not reported as another writer's.
    this.#reported.delete(key);
    const { type, body } = patchOf(DEPLOYMENTS, workload, undefined, { keys, resume: true });
    try {
      const options = { type, fieldManager: FIELD_MANAGER };
      seen(await client.patch<KubeObject>(DEPLOYMENTS, workload.ref, body, options));
    } catch (error) {
      if (KubeError.is(error) && error.status === 404) return;
      throw error;
    }
    if (isLeftOver) this.#removedMarks.set(key, workload.annotations[keys.pausedAt]);
    else report.tell({ is: 'resumed', workload, by: 'us' });
  }

  /** Reports the beginning of a pause, and an end by another writer; not for a version that arrives late. */
  #reportPause(key: WorkloadKey, workload: Workload): void {
    const { keys, report, mayWrite } = this.#deps;
    const isNewest = this.#deps.workload(key)?.resourceVersion === workload.resourceVersion;
    if (!isNewest || !mayWrite()) return;
    if (!workload.paused && this.#reported.delete(key)) report.tell({ is: 'resumed', workload, by: 'another writer' });
    const step = this.#stepOf(workload);
    const pausedAt = workload.annotations[keys.pausedAt];
    if (step.do !== 'hold' || this.#reported.get(key) === pausedAt) return;
    this.#reported.set(key, pausedAt);
    report.tell({ is: 'paused', workload, until: step.untilMs });
  }

  /** `untilMs` is by the server's clock, as the annotation is. */
  #holdUntil(key: WorkloadKey, untilMs: number): void {
    const { client, clock } = this.#deps;
    this.#queue.schedule(key, clock.now() + untilMs - client.serverNow());
  }

  /**
   * Another writer ended our pause and left the mark, which would make their own next pause look like ours. Removed once: if
   * it is put back, that is on purpose.
   */
  #isLeftOver({ ref, paused, annotations }: Workload): boolean {
    const { keys, removesMarks } = this.#deps;
    const mark = annotations[keys.pausedAt];
    if (paused || mark === undefined || mark.length > MAX_MARK || !removesMarks(ref.namespace)) return false;
    return this.#removedMarks.get(workloadKey(ref)) !== mark;
  }

  #stepOf({ paused, annotations, intent }: Workload) {
    const { client, keys } = this.#deps;
    const pausedAt = annotations[keys.pausedAt];
    return pauseStep({ paused, pausedAt, periodMs: intent.overrides.pausePeriodMs }, client.serverNow());
  }
}
