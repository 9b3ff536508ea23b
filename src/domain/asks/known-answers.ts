/** Names that have a number. A namespace has fewer sources, or the numbers begin again. */
const MOST_NAMES = 4096;
/** Two bits for each name: whether the answer is known, and what it is. */
const BYTES = MOST_NAMES / 4;
/** Expressions whose answers are kept: as many as two full namespaces have. About 5 MB. */
const MOST_EXPRESSIONS = 5000;

/**
 * Remembers which names an expression matches. The reverse index and the verdict of each workload ask the same question
 * about one change, and a source changes many times.
 */
export class KnownAnswers {
  readonly #numbers = new Map<string, number>();
  readonly #answers = new Map<string, Uint8Array>();

  /** Whether the name matches the expression; `match` finds it out the first time. */
  answer(expression: string, name: string, match: () => boolean): boolean {
    const number = this.#numbers.get(name) ?? this.#enter(name);
    const bits = this.#answers.get(expression) ?? this.#open(expression);
    const at = number >> 2;
    const shift = 2 * (number & 3);
    const known = (bits[at] ?? 0) >> shift;
    if ((known & 1) !== 0) return (known & 2) !== 0;
    const answer = match();
    bits[at] = (bits[at] ?? 0) | ((answer ? 3 : 1) << shift);
    return answer;
  }

  #enter(name: string): number {
    if (this.#numbers.size === MOST_NAMES) {
      this.#numbers.clear();
      this.#answers.clear();
    }
    const number = this.#numbers.size;
    this.#numbers.set(name, number);
    return number;
  }

  #open(expression: string): Uint8Array {
    const [oldest = expression] = this.#answers.size < MOST_EXPRESSIONS ? [] : this.#answers.keys();
    this.#answers.delete(oldest);
    const bits = new Uint8Array(BYTES);
    this.#answers.set(expression, bits);
    return bits;
  }
}
