import type { KubeError } from '../../kube/kube-error.ts';
import type { ControllerMetrics } from '../../telemetry/metric-tables/controller.ts';
import { Access } from './access.ts';
import { barredFromLease, hindrance, isEnough, type NotReady, obstruction, refusedCredential } from './hindrance.ts';

export interface ReadinessDeps {
  readonly signal: AbortSignal;
  /** Upstream is ready whatever its rights. */
  readonly compat: boolean;
  /** False: changes are only told to somebody. */
  readonly workloads: boolean;
  /** Whether a leader is elected: ready is who leads, or knows who does and could take over. */
  readonly elects: boolean;
  readonly report: { notReady(hindrance: NotReady, wasReady: boolean): void };
  readonly metrics: Pick<ControllerMetrics, 'set'>;
  readonly onReady: () => void;
  readonly onUnready: () => void;
}

/**
 * Whether work can be done, and what is said about it.
 *
 * Ready is who has begun, has prepared for a crash since the work became possible, and has enough rights. What is missing
 * is told once, and again when it is something else. Nothing is told once the end has been asked for.
 */
export class Readiness {
  readonly #deps: ReadinessDeps;
  readonly access = new Access(() => this.#look());
  #prepare: (() => Promise<void>) | undefined;
  #isPreparing = false;
  #isReady = false;
  #wasEnough = false;
  /** Something became possible that the last preparation may not have known. */
  #isOutdated = false;
  #said: string | undefined;
  #barred: NotReady | undefined;
  #isElectable: boolean;

  constructor(deps: ReadinessDeps) {
    this.#deps = deps;
    this.#isElectable = !deps.elects;
  }

  /** Everything is listed that may be: ready as soon as `prepare` is done and the rights are enough. */
  async begin(prepare: () => Promise<void>): Promise<void> {
    this.#prepare = prepare;
    await this.#strive();
    this.#look();
  }

  /** A call that everything waits for was refused because of who we are. */
  refused(error: KubeError): void {
    this.#tell(refusedCredential(error));
  }

  /** Why we cannot be elected; undefined: we can. */
  barred(error: KubeError | undefined): void {
    this.#isElectable = error === undefined;
    this.#barred = error && barredFromLease(error);
    this.#look();
  }

  #look(): void {
    const { signal, compat, workloads } = this.#deps;
    if (signal.aborted) return;
    const { followed } = this.access;
    const isNowEnough = compat || (isEnough(followed, { workloads }) && this.#isElectable);
    if (isNowEnough && !this.#wasEnough) this.#isOutdated = true;
    this.#wasEnough = isNowEnough;
    if (!isNowEnough) this.#hindered(hindrance(followed, { workloads }) ?? this.#barred ?? this.#obstruction());
    else if (this.#prepare === undefined) this.#hindered(this.#obstruction());
    else if (!this.#isReady) void this.#strive();
  }

  #obstruction(): NotReady | undefined {
    return this.#prepare ? undefined : obstruction(this.access.followed);
  }

  #hindered(by: NotReady | undefined): void {
    if (!by) return;
    const wasReady = this.#isReady;
    this.#isReady = false;
    if (wasReady) {
      this.#deps.metrics.set('attune_ready', {}, 0);
      this.#deps.onUnready();
    }
    this.#tell(by, wasReady);
  }

  #tell(by: NotReady, wasReady = false): void {
    if (by.message === this.#said || this.#deps.signal.aborted) return;
    this.#said = by.message;
    this.#deps.report.notReady(by, wasReady);
  }

  async #strive(): Promise<void> {
    if (this.#isPreparing || !this.#prepare) return;
    this.#isPreparing = true;
    do {
      this.#isOutdated = false;
      await this.#prepare();
    } while (this.#isOutdated && !this.#deps.signal.aborted);
    this.#isPreparing = false;
    if (!this.#wasEnough || this.#isReady || this.#deps.signal.aborted) return;
    this.#isReady = true;
    this.#said = undefined;
    this.#deps.metrics.set('attune_ready', {}, 1);
    this.#deps.onReady();
  }
}
