/** Remembers what people were told, by topic: once is enough, until it is over or has become something else. */
export class News {
  readonly #told = new Map<string, string>();

  /** Calls `tell` for what is new. Undefined: there is nothing to tell any more. */
  about(topic: string, what: string | undefined, tell: (what: string) => void): void {
    if (what === undefined) this.#told.delete(topic);
    else if (this.#told.get(topic) !== what) {
      this.#told.set(topic, what);
      tell(what);
    }
  }
}
