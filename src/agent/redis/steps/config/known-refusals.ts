import type { Change } from '../../../../domain/redis/config/danger.ts';
import { isLasting } from '../../../../domain/redis/config/refusal.ts';

/** What depends on the machine, like a full disk, is tried again after this long. */
const AGAIN_MS = 60_000;

interface Refusal {
  readonly words: string;
  readonly until: number;
}

/** What a running server has refused, so that it is not asked in every pass. Another server is asked again. */
export class KnownRefusals {
  readonly #values = new Map<string, Refusal>();
  readonly #starts = new Map<string, string>();
  readonly #dangers = new Map<string, string>();
  /** Parameters that only a start sets, with Redis's words. */
  readonly forStart = new Map<string, string>();
  #runId = '';

  /** Forgets all that another server has said, and what nobody asks for any more. */
  keep(runId: string, names: ReadonlySet<string>): void {
    const known: readonly Map<string, unknown>[] = [this.#values, this.#starts, this.#dangers, this.forStart];
    for (const map of known)
      for (const key of map.keys())
        if (runId !== this.#runId || !names.has(key.split('\n', 1)[0] ?? '')) map.delete(key);
    this.#runId = runId;
  }

  ofValue(change: Change, now: number): string | undefined {
    const refusal = this.#values.get(keyOf(change));
    return refusal && now < refusal.until ? refusal.words : undefined;
  }

  addValue(change: Change, words: string, now: number): void {
    this.#values.set(keyOf(change), { words, until: isLasting(words) ? Number.POSITIVE_INFINITY : now + AGAIN_MS });
  }

  ofStart(change: Change): string | undefined {
    return this.#starts.get(keyOf(change));
  }

  addStart(change: Change, words: string): void {
    this.#starts.set(keyOf(change), words);
  }

  /** The words that were first used for a danger: its numbers change all the time, and each would be a new status. */
  sameDanger(change: Change, words: string): string {
    const first = this.#dangers.get(keyOf(change)) ?? words;
    this.#dangers.set(keyOf(change), first);
    return first;
  }
}

const keyOf = ({ name, text }: Change): string => `${name}\n${text}`;
