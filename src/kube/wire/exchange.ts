export interface Request {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | number>>;
  readonly body: string | undefined;
}

/** What carries exchanges to the server. */
export interface Dispatcher {
  send(exchange: Exchange): void;
  /** Closes the connections that carry nothing, so that the next exchange gets a new one. */
  closeIdle(): void;
  /** Breaks everything that is under way. */
  close(): void;
}

/** The connection that carries an exchange, as the exchange sees it. */
export interface ExchangeSocket {
  pause(): void;
  resume(): void;
  destroy(): void;
}

// What nobody has asked for yet is not taken in beyond this.
const HELD_BYTES = 1024 * 1024;

/** One request and its answer, as far as it has come. */
export class Exchange {
  readonly request: Request;
  /** How long nothing may be sent or received before it counts as lost: until the answer begins, and from then on. */
  readonly headMs: number;
  readonly idleMs: number;
  /** Whether anybody looks at the date of the answer. */
  readonly wantsDate: boolean;
  status = 0;
  retryAfter: string | undefined;
  date: string | undefined;
  /** Its connection had served others before: the server may have been about to close it. */
  isReused = false;
  /** Called once when nothing more will come. */
  onOver: (() => void) | undefined;
  readonly #answered = Promise.withResolvers<this>();
  #socket: ExchangeSocket | undefined;
  #pieces: Buffer[] = [];
  #held = 0;
  #over: 'complete' | Error | undefined;
  #wake: (() => void) | undefined;

  constructor(request: Request, headMs: number, idleMs: number, wantsDate = false) {
    this.request = request;
    this.headMs = headMs;
    this.idleMs = idleMs;
    this.wantsDate = wantsDate;
  }

  /** Resolves when the answer begins. */
  get answered(): Promise<this> {
    return this.#answered.promise;
  }

  get isOver(): boolean {
    return this.#over !== undefined;
  }

  /** The body as it comes, to be overwritten by who has read it. Who stops reading breaks the connection. */
  async *pieces(): AsyncGenerator<Buffer, void> {
    try {
      for (;;) {
        const piece = this.#pieces.shift();
        if (piece) {
          this.#held -= piece.length;
          yield piece;
        } else if (this.#isOver()) return;
        else await this.#news();
      }
    } finally {
      this.#erase();
      this.fail(new Error('not read to its end'));
    }
  }

  /** The whole body, which is broken off with `tooLong` when it has more than so many bytes. To be overwritten as well. */
  async body(maxBytes: number, tooLong: () => Error): Promise<Buffer> {
    try {
      while (!this.#isOver()) {
        await this.#news();
        if (this.#held > maxBytes) this.fail(tooLong());
      }
      const [first] = this.#pieces;
      if (first && this.#pieces.length === 1) return this.#pieces.pop() as Buffer;
      return Buffer.concat(this.#pieces);
    } finally {
      this.#erase();
    }
  }

  /** Ends it before its time. */
  fail(error: Error): void {
    if (this.#over) return;
    this.#finish(error);
    this.#answered.reject(error);
    this.#socket?.destroy();
  }

  /** A connection takes it up. */
  assign(carrier: ExchangeSocket, isReused: boolean): void {
    this.#socket = carrier;
    this.isReused = isReused;
  }

  begin(status: number, retryAfter: string | undefined, date: string | undefined): void {
    this.status = status;
    this.retryAfter = retryAfter;
    this.date = date;
    this.#answered.resolve(this);
  }

  push(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#held += piece.length;
    if (this.#held > HELD_BYTES) this.#socket?.pause();
    this.#wake?.();
  }

  complete(): void {
    if (!this.#over) this.#finish('complete');
  }

  #erase(): void {
    for (const piece of this.#pieces) piece.fill(0);
    this.#pieces = [];
  }

  #finish(how: 'complete' | Error): void {
    this.#over = how;
    this.onOver?.();
    this.#wake?.();
  }

  #isOver(): boolean {
    if (this.#over instanceof Error) throw this.#over;
    return this.#over !== undefined;
  }

  #news(): Promise<void> {
    this.#socket?.resume();
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}
