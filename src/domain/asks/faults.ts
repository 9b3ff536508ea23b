import { quote } from '../text/quote.ts';
import type { Problem } from './ask.ts';

/** A list can have a hundred thousand elements: a few of them are enough to see what is wrong. */
const TOLD = 5;

/** What is wrong with elements of one list: the first few, and how many more there are. */
export class Faults {
  readonly #path: string;
  readonly #told = new Set<string>();
  #count = 0;

  constructor(path: string) {
    this.#path = path;
  }

  get count(): number {
    return this.#count;
  }

  add(element: string, fault: string): void {
    this.#count += 1;
    if (this.#told.size < TOLD) this.#told.add(`${quote(element)} ${fault}`);
  }

  problems(): readonly Problem[] {
    const more = this.#count - this.#told.size;
    const messages = more > 0 ? [...this.#told, `${more} more elements have problems`] : [...this.#told];
    return messages.map((message) => ({ path: this.#path, message }));
  }
}
