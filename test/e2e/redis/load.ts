import { setTimeout as delay } from 'node:timers/promises';
import { connectRedis, type RedisConnection } from '../../../src/agent/redis/connection/connect.ts';
import type { Credential } from '../../../src/agent/redis/connection/redis.ts';
import { parseInfo } from '../../../src/domain/redis/info.ts';
import type { RedisNode } from './redis-node.ts';

/** Somebody who uses a Redis all the time, over TLS. */
export interface LoadClient {
  readonly name: string;
  readonly node: RedisNode;
  /** PEM of the authorities that it trusts. */
  readonly ca: string;
  /** What it knows at the time of a connect. */
  readonly credential: () => Credential;
  /** A replica takes no writes. */
  readonly writes: boolean;
  /** It connects anew after so many turns; missing: it keeps its connection. */
  readonly turns?: number;
}

/** Between two turns: enough of them, and some of the machine is left for Redis. */
const PAUSE_MS = 4;
const RETRY_MS = 100;

/** Clients that send commands without an end. Whatever goes wrong is kept in words. */
export class Load {
  readonly failures: string[] = [];
  commands = 0;
  connects = 0;
  readonly #stopping = new AbortController();
  #working: Promise<unknown> = Promise.resolve();

  /** Returns when each client has an answer; then they go on until `stop`. */
  async start(clients: readonly LoadClient[]): Promise<void> {
    const connections = await Promise.all(clients.map((client) => this.#connect(client)));
    this.#working = Promise.all(clients.map((client, at) => this.#work(client, connections[at])));
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#working;
  }

  async #connect(client: LoadClient): Promise<RedisConnection> {
    const { name, node, ca, credential } = client;
    const target = { host: node.address, port: 6379, tls: { ca: Buffer.from(ca) } };
    const connection = await connectRedis(target, {
      credentials: () => [credential()],
      onLost: () => this.#fail(name, 'its connection was lost'),
    });
    this.connects += 1;
    return connection;
  }

  async #work(client: LoadClient, first: RedisConnection | undefined): Promise<void> {
    let connection = first;
    for (let turn = 1; !this.#stopping.signal.aborted; turn += 1) {
      try {
        connection = connection?.isOpen ? connection : await this.#connect(client);
        await this.#turn(client, connection, String(turn));
        if (client.turns !== undefined && turn % client.turns === 0) connection.close();
        await delay(PAUSE_MS);
      } catch (error) {
        this.#fail(client.name, error instanceof Error ? error.message : String(error));
        await delay(RETRY_MS);
      }
    }
    connection?.close();
  }

  async #turn({ name, writes }: LoadClient, connection: RedisConnection, value: string): Promise<void> {
    const key = `load:${name}`;
    if (writes) await connection.send('SET', key, value);
    const read = await connection.send('GET', key);
    this.commands += writes ? 2 : 1;
    if (writes && read !== value) this.#fail(name, `${key} is ${JSON.stringify(read)}, though ${value} was written`);
  }

  #fail(client: string, words: string): void {
    if (!this.#stopping.signal.aborted) this.failures.push(`${client}: ${words}`);
  }
}

const LOOK_MS = 50;

/** Looks at the links of replicas all the time. */
export class LinkWatch {
  /** Each time a link was seen down. */
  readonly downs: string[] = [];
  looks = 0;
  readonly #replicas: readonly RedisNode[];
  readonly #stopping = new AbortController();
  #looking: Promise<unknown> = Promise.resolve();

  constructor(replicas: readonly RedisNode[]) {
    this.#replicas = replicas;
  }

  start(): void {
    this.#looking = Promise.all(this.#replicas.map((node) => this.#look(node)));
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#looking;
  }

  async #look(node: RedisNode): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const link = (await infoOf(node, 'replication')).get('master_link_status');
      this.looks += 1;
      if (link !== 'up') this.downs.push(`${node.name}: ${link}`);
      await delay(LOOK_MS);
    }
  }
}

/** How often replicas had to begin again, as their primary has counted. */
export async function syncsOf(primary: RedisNode): Promise<readonly (string | undefined)[]> {
  const stats = await infoOf(primary, 'stats');
  return ['sync_full', 'sync_partial_ok', 'sync_partial_err'].map((name) => stats.get(name));
}

const infoOf = async (node: RedisNode, section: string): Promise<ReadonlyMap<string, string>> =>
  parseInfo(String(await node.send('INFO', section)));
