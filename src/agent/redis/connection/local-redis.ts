import { connectRedis, type RedisConnection } from './connect.ts';
import { type Credential, type Redis, RedisUnreachable, type Reply } from './redis.ts';
import type { RedisTarget } from './target.ts';

export interface LocalRedisOptions {
  /** Asked at each connect, like the credentials. */
  readonly target: () => RedisTarget;
  readonly credentials: () => readonly Credential[];
  /** How long anything may take; 5 s unless told. */
  readonly timeoutMs?: number | undefined;
  /** Called when a connection is lost that stood, before anybody sends something again. */
  readonly onLost?: (() => void) | undefined;
}

/** The Redis beside the agent: one connection, which the next word that is sent opens again after it broke. */
export class LocalRedis implements Redis {
  readonly #options: LocalRedisOptions;
  #connection: RedisConnection | undefined;
  #connecting: Promise<RedisConnection> | undefined;
  /** Ends what was begun before the last `close`. */
  #closing = new AbortController();

  constructor(options: LocalRedisOptions) {
    this.#options = options;
  }

  get isConnected(): boolean {
    return this.#connection?.isOpen ?? false;
  }

  /** The user as whom it is logged in; undefined where there is no connection. */
  get user(): string | undefined {
    return this.isConnected ? this.#connection?.user : undefined;
  }

  async send(...words: readonly (string | Buffer)[]): Promise<Reply> {
    const connection = await this.#open();
    try {
      return await connection.send(...words);
    } catch (error) {
      if (!(error instanceof RedisUnreachable && error.undelivered) || this.#connection !== connection) throw error;
      return await (await this.#open()).send(...words);
    }
  }

  /** Ends the connection; the next send opens another one. */
  close(): void {
    this.#closing.abort();
    this.#closing = new AbortController();
    this.#connection = undefined;
    this.#connecting = undefined;
  }

  async #open(): Promise<RedisConnection> {
    if (this.#connection?.isOpen) return this.#connection;
    const { signal } = this.#closing;
    // Not in `#connect` itself: that may fail before its promise is assigned, which would then stay.
    this.#connecting ??= this.#connect(signal).finally(() => {
      if (!signal.aborted) this.#connecting = undefined;
    });
    return await this.#connecting;
  }

  async #connect(signal: AbortSignal): Promise<RedisConnection> {
    const { target, credentials, timeoutMs, onLost } = this.#options;
    const connection = await connectRedis(target(), { credentials, timeoutMs, onLost, signal });
    if (!signal.aborted) this.#connection = connection;
    return connection;
  }
}
