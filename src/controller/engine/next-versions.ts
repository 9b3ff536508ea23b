import type { WorkloadState } from '../../domain/state/workload-state.ts';

/** Who waits for a workload's next version. */
export class NextVersions {
  readonly #waiting = new Map<WorkloadState, PromiseWithResolvers<void>>();

  /** Resolves when a newer version is seen, or it is gone. */
  of(state: WorkloadState): Promise<void> {
    const waiting = this.#waiting.get(state) ?? Promise.withResolvers<void>();
    this.#waiting.set(state, waiting);
    return waiting.promise;
  }

  came(state: WorkloadState): void {
    this.#waiting.get(state)?.resolve();
    this.#waiting.delete(state);
  }
}
