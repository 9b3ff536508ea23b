import { setTimeout as delay } from 'node:timers/promises';
import { connectRedis, type RedisConnection } from '../../../agent/redis/connection/connect.ts';
import type { Credential } from '../../../agent/redis/connection/redis.ts';
import type { RedisTarget } from '../../../agent/redis/connection/target.ts';

/** One of those that use Redis all the time. */
export interface LoadClient {
  readonly target: RedisTarget;
  /** Asked at each connect. */
  readonly credentials: () => readonly Credential[];
  readonly key: string;
  /** A replica takes no writes. */
  readonly writes: boolean;
}

export interface LoadCounts {
  readonly commands: number;
  readonly failed: number;
  /** Connections that broke though nobody closed them. */
  readonly lost: number;
}

/** Between two commands of a client: enough of them, and some of the machine is left for Redis. */
const PAUSE_MS = 2;
const RETRY_MS = 100;

/** Clients that send commands without an end, and count what goes wrong. */
export class Load {
  readonly #stopping = new AbortController();
  readonly #failed: (words: string) => void;
  #commands = 0;
  #failures = 0;
  #lost = 0;
  #finished: Promise<unknown> = Promise.resolve();

  /** `failed` is told each failure in words. */
  constructor(failed: (words: string) => void) {
    this.#failed = failed;
  }

  /** Returns when each client has connected; then they work until `stop`. */
  async start(clients: readonly LoadClient[]): Promise<void> {
    const connections = await Promise.all(clients.map((client) => this.#connect(client)));
    this.#finished = Promise.all(clients.map((client, at) => this.#work(client, connections[at])));
  }

  get counts(): LoadCounts {
    return { commands: this.#commands, failed: this.#failures, lost: this.#lost };
  }

  async stop(): Promise<LoadCounts> {
    this.#stopping.abort();
    await this.#finished;
    return this.counts;
  }

  #connect({ target, credentials }: LoadClient): Promise<RedisConnection> {
    const onLost = (): void => {
      if (!this.#stopping.signal.aborted) this.#lost++;
    };
    return connectRedis(target, { credentials, onLost });
  }

  async #work(client: LoadClient, first: RedisConnection | undefined): Promise<void> {
    let connection = first;
    const { signal } = this.#stopping;
    for (let turn = 0; !signal.aborted; turn++) {
      try {
        connection = connection?.isOpen ? connection : await this.#connect(client);
        await this.#turn(client, connection, String(turn));
        await delay(PAUSE_MS);
      } catch (error) {
        this.#failures++;
        this.#failed(error instanceof Error ? error.message : String(error));
        await delay(RETRY_MS);
      }
    }
    connection?.close();
  }

  async #turn({ key, writes }: LoadClient, connection: RedisConnection, value: string): Promise<void> {
    if (writes) {
      await connection.send('SET', key, value);
      this.#commands++;
    }
    const read = await connection.send('GET', key);
    this.#commands++;
    if (writes && read !== value) throw new Error(`${key} is ${JSON.stringify(read)}, though ${value} was written`);
  }
}
