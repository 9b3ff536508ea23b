import type { Resource } from '../../api/resources.ts';
import type { ListScope } from '../../kube/client.ts';
import type { KubeError } from '../../kube/kube-error.ts';
import type { ControllerMetrics } from '../../telemetry/metric-tables/controller.ts';
import type { ControllerDeps } from '../controller.ts';
import type { WatchReport } from '../report/watch-report.ts';
import { FollowedKind, type Role } from './followed-kind.ts';
import {
  canWork,
  type NotReady,
  notReadyBecause,
  refusedCredential,
  refusedLease,
  startDelayedBy,
} from './not-ready.ts';

export interface ReadinessDeps extends Pick<ControllerDeps, 'onReady' | 'onUnready'> {
  readonly signal: AbortSignal;
  /** Upstream is ready whatever its rights. */
  readonly compat: boolean;
  /** False: changes are only told to somebody. */
  readonly workloads: boolean;
  /** Whether a leader is elected: ready is who leads, or knows who does and could take over. */
  readonly elects: boolean;
  readonly report: Pick<WatchReport, 'notReady'>;
  readonly metrics: Pick<ControllerMetrics, 'set'>;
}

/**
 * Whether work can be done, and what is said about it.
 *
 * Ready means: begun, prepared for a crash since the work became possible, and enough rights. What is missing is told
 * once, and again when it is something else. Nothing is told once the end has been asked for.
 */
export class Readiness {
  readonly #deps: ReadinessDeps;
  readonly #followed: FollowedKind[] = [];
  #prepare: (() => Promise<void>) | undefined;
  #isPreparing = false;
  #isReady = false;
  #couldWork = false;
  /** Something became possible that the last preparation may not have known. */
  #isOutdated = false;
  #reported: string | undefined;
  #leaseRefusal: NotReady | undefined;
  #isElectable: boolean;

  constructor(deps: ReadinessDeps) {
    this.#deps = deps;
    this.#isElectable = !deps.elects;
  }

  follows(role: Role, resource: Resource, { namespace = '' }: ListScope): FollowedKind {
    const kind = new FollowedKind(role, resource, namespace, () => this.#update());
    this.#followed.push(kind);
    return kind;
  }

  /** Everything is listed that may be: ready as soon as `prepare` is done and the rights are enough. */
  async begin(prepare: () => Promise<void>): Promise<void> {
    this.#prepare = prepare;
    await this.#becomeReady();
    this.#update();
  }

  /** A call that everything waits for was refused because of who we are. */
  refused(error: KubeError): void {
    this.#tell(refusedCredential(error));
  }

  /** Why we cannot be elected; undefined: we can. */
  leaseRefused(error: KubeError | undefined): void {
    this.#isElectable = error === undefined;
    this.#leaseRefusal = error && refusedLease(error);
    this.#update();
  }

  #update(): void {
    const { signal, compat, workloads } = this.#deps;
    if (signal.aborted) return;
    const canWorkNow = compat || (canWork(this.#followed, workloads) && this.#isElectable);
    if (canWorkNow && !this.#couldWork) this.#isOutdated = true;
    this.#couldWork = canWorkNow;
    if (!canWorkNow)
      this.#becomeUnready(notReadyBecause(this.#followed, workloads) ?? this.#leaseRefusal ?? this.#delay());
    else if (this.#prepare === undefined) this.#becomeUnready(this.#delay());
    else if (!this.#isReady) void this.#becomeReady();
  }

  #delay(): NotReady | undefined {
    return this.#prepare ? undefined : startDelayedBy(this.#followed);
  }

  #becomeUnready(why: NotReady | undefined): void {
    if (!why) return;
    const wasReady = this.#isReady;
    this.#isReady = false;
    if (wasReady) {
      this.#deps.metrics.set('attune_ready', {}, 0);
      this.#deps.onUnready();
    }
    this.#tell(why, wasReady);
  }

  #tell(why: NotReady, wasReady = false): void {
    if (why.message === this.#reported || this.#deps.signal.aborted) return;
    this.#reported = why.message;
    this.#deps.report.notReady(why, wasReady);
  }

  async #becomeReady(): Promise<void> {
    if (this.#isPreparing || !this.#prepare) return;
    this.#isPreparing = true;
    do {
      this.#isOutdated = false;
      await this.#prepare();
    } while (this.#isOutdated && !this.#deps.signal.aborted);
    this.#isPreparing = false;
    if (!this.#couldWork || this.#isReady || this.#deps.signal.aborted) return;
    this.#isReady = true;
    this.#reported = undefined;
    this.#deps.metrics.set('attune_ready', {}, 1);
    this.#deps.onReady();
  }
}
