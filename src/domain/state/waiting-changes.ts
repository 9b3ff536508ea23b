import type { Applied } from '../ledger/applied.ts';
import type { SourceId } from '../ledger/source-id.ts';
import { SparseMap } from './sparse-map.ts';

/** Changes that wait, in the order in which they came, each with the data that is to be applied. */
export class WaitingChanges {
  readonly #changes = new SparseMap<SourceId, Applied>();
  #firstAt = 0;
  #lastAt = 0;

  get entries(): ReadonlyMap<SourceId, Applied> {
    return this.#changes.entries;
  }

  /** When the first of those that wait came, and the last one ever. */
  get firstAt(): number {
    return this.#firstAt;
  }
  get lastAt(): number {
    return this.#lastAt;
  }

  /** False if it waits already. */
  add(id: SourceId, data: Applied, now: number): boolean {
    if (this.#changes.get(id) === data) return false;
    if (this.#changes.size === 0) this.#firstAt = now;
    this.#lastAt = now;
    // Deleted first: the order is that of the newest change of each.
    this.#changes.delete(id);
    this.#changes.set(id, data);
    return true;
  }

  delete(id: SourceId): void {
    this.#changes.delete(id);
  }

  /** What still waits came after those that were written: its time begins anew. */
  passDone(): void {
    this.#firstAt = this.#lastAt;
  }
}
