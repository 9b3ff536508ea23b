import type { Turn, Turns } from './turns.ts';

export interface Request {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | number>>;
  readonly body: string | undefined;
}

/** The connection of an exchange, as far as the exchange controls it. */
export interface ExchangeSocket {
  pause(): void;
  resume(): void;
  destroy(): void;
}

export interface BodyLimits {
  /** Beyond this it fails with `tooLong`. */
  readonly maxBytes: number;
  readonly tooLong: () => Error;
  readonly turns: Turns;
}

// With more than this unread, the connection is paused.
const MAX_UNREAD_BYTES = 1024 * 1024;

/** One request and its answer, as far as it has arrived. */
export class Exchange {
  readonly request: Request;
  /** How long the connection may be silent: until the answer begins, and from then on. */
  readonly headMs: number;
  readonly idleMs: number;
  /** Whether the date of the answer is needed. */
  readonly wantsDate: boolean;
  status = 0;
  retryAfter: string | undefined;
  date: string | undefined;
  /** The connection has carried other exchanges before, so the server may have just closed it as idle. */
  isReused = false;
  /** Called once, when the exchange is complete or has failed. */
  onOver: (() => void) | undefined;
  readonly #answered = Promise.withResolvers<this>();
  #socket: ExchangeSocket | undefined;
  #unread: Buffer[] = [];
  #unreadBytes = 0;
  #over: 'complete' | Error | undefined;
  #wake: (() => void) | undefined;

  constructor(request: Request, headMs: number, idleMs: number, wantsDate = false) {
    this.request = request;
    this.headMs = headMs;
    this.idleMs = idleMs;
    this.wantsDate = wantsDate;
  }

  /** Resolves when the head of the answer is there. */
  get answered(): Promise<this> {
    return this.#answered.promise;
  }

  get isOver(): boolean {
    return this.#over !== undefined;
  }

  /** The body as it arrives. The reader overwrites each piece after use; to stop early closes the connection. */
  async *pieces(): AsyncGenerator<Buffer, void> {
    try {
      for (;;) {
        const piece = this.#unread.shift();
        if (piece) {
          this.#unreadBytes -= piece.length;
          yield piece;
        } else if (this.#isComplete()) return;
        else await this.#moreData();
      }
    } finally {
      this.#erase();
      this.fail(new Error('not read to its end'));
    }
  }

  /**
   * The whole body, to be overwritten after use. Beyond the first MiB it needs a turn: a client asks for many answers at once,
   * and together they must not fill the memory.
   */
  async body({ maxBytes, tooLong, turns }: BodyLimits): Promise<Buffer> {
    let turn: Turn | undefined;
    try {
      while (!this.#isComplete()) {
        await (turn?.isGranted === false ? this.#woken() : this.#moreData());
        if (this.#unreadBytes > maxBytes) this.fail(tooLong());
        else if (this.#unreadBytes > MAX_UNREAD_BYTES) turn ??= turns.ask(() => this.#wake?.());
      }
      const [first] = this.#unread;
      if (first && this.#unread.length === 1) return this.#unread.pop() as Buffer;
      return Buffer.concat(this.#unread);
    } finally {
      turn?.giveBack();
      this.#erase();
    }
  }

  /** A turn for a reader of pieces, who gives it back; throws where the exchange fails meanwhile. */
  async turn(turns: Turns): Promise<Turn> {
    const turn = turns.ask(() => this.#wake?.());
    try {
      while (!turn.isGranted) {
        await this.#woken();
        this.#isComplete();
      }
      return turn;
    } catch (error) {
      turn.giveBack();
      throw error;
    }
  }

  /** Ends the exchange before its time, and with it the connection. */
  fail(error: Error): void {
    if (this.#over) return;
    this.#finish(error);
    this.#answered.reject(error);
    this.#socket?.destroy();
  }

  /** Says which connection it is sent on. */
  assign(socket: ExchangeSocket, isReused: boolean): void {
    this.#socket = socket;
    this.isReused = isReused;
  }

  begin(status: number, retryAfter: string | undefined, date: string | undefined): void {
    this.status = status;
    this.retryAfter = retryAfter;
    this.date = date;
    this.#answered.resolve(this);
  }

  push(piece: Buffer): void {
    this.#unread.push(piece);
    this.#unreadBytes += piece.length;
    if (this.#unreadBytes > MAX_UNREAD_BYTES) this.#socket?.pause();
    this.#wake?.();
  }

  complete(): void {
    if (!this.#over) this.#finish('complete');
  }

  #erase(): void {
    for (const piece of this.#unread) piece.fill(0);
    this.#unread = [];
  }

  #finish(how: 'complete' | Error): void {
    this.#over = how;
    this.onOver?.();
    this.#wake?.();
  }

  /** Throws where it has failed. */
  #isComplete(): boolean {
    if (this.#over instanceof Error) throw this.#over;
    return this.#over !== undefined;
  }

  #moreData(): Promise<void> {
    this.#socket?.resume();
    return this.#woken();
  }

  #woken(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}
