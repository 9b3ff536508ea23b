import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { connectRedis } from '../../src/agent/redis/connection/connect.ts';
import type { Redis } from '../../src/agent/redis/connection/redis.ts';
import { createTryServer } from '../../src/agent/redis/server/run-trial.ts';
import type { TryServer } from '../../src/agent/redis/server/trial.ts';
import type { RedisAgentSettings } from '../../src/agent/redis/settings.ts';
import {
  type ConfigReport,
  type ConfigStep,
  createConfigStep,
} from '../../src/agent/redis/steps/config/config-step.ts';
import type { Directive, StepContext } from '../../src/agent/redis/steps/step.ts';
import type { ClusterView } from '../../src/domain/redis/cluster-view.ts';
import { clusterView } from './cluster-view.ts';
import { startRedis, type TestRedis } from './redis-process.ts';
import { virtualClock } from './virtual-clock.ts';

/** What is told of a key. */
export const applied = (value: string, message?: string) => ({ state: 'Applied', value, message });
export const refused = (message: unknown) => expect.objectContaining({ state: 'Refused', message });

export type Spec = Readonly<Record<string, string>>;

/** The step for configuration with a real Redis, a folder for its state, and all that it sends and tells. */
export class ConfigWorld implements AsyncDisposable {
  readonly folder: string;
  readonly clock = virtualClock();
  /** `Warning ConfigRefused: …` */
  readonly events: string[] = [];
  readonly sent: string[] = [];
  trials = 0;
  /** Replaces what proves start files. */
  tryServer: TryServer = createTryServer({ redisServer: 'redis-server', connect: connectRedis });
  /** Called before each command to the running server. */
  beforeSend: (words: readonly string[]) => void = () => {};
  readonly #mode: RedisAgentSettings['mode'];
  #redis: TestRedis | undefined;
  #isOwn = false;
  #step: ConfigStep;

  private constructor(folder: string, mode: RedisAgentSettings['mode']) {
    this.folder = folder;
    this.#mode = mode;
    this.#step = createConfigStep(this.#settings());
  }

  static async create(mode: RedisAgentSettings['mode'] = 'parent'): Promise<ConfigWorld> {
    return new ConfigWorld(await mkdtemp('/tmp/cw-'), mode);
  }

  get redis(): TestRedis {
    if (!this.#redis) throw new Error('Redis does not run');
    return this.#redis;
  }

  /** Starts Redis, or starts it anew. It has no port: `bind` would have nothing to do. */
  async start(directives: readonly Directive[] = []): Promise<this> {
    await this.#stop();
    this.#isOwn = true;
    this.#redis = await startRedis({ directives: directives.filter(([key]) => key !== 'bind') });
    return this;
  }

  /** Works on a Redis that the test itself starts and stops. */
  use(redis: TestRedis): void {
    this.#redis = redis;
    this.#isOwn = false;
  }

  /** Puts a file into the folder. */
  async file(path: string, content: string): Promise<void> {
    await mkdir(dirname(join(this.folder, path)), { recursive: true });
    await writeFile(join(this.folder, path), content);
  }

  /** The agent is killed and comes again: all that it knows is what it has kept. */
  killAgent(): void {
    this.#step = createConfigStep(this.#settings());
  }

  apply(redis: Spec | ReadonlyMap<string, string>, own: Partial<ClusterView> = {}): Promise<ConfigReport> {
    this.sent.length = 0;
    this.events.length = 0;
    return this.#step.apply(this.#context(redis, own));
  }

  prepare(redis: Spec, own: Partial<ClusterView> = {}): Promise<readonly Directive[]> {
    return this.#step.prepare(this.#context(redis, own));
  }

  /** As the running server has it. */
  async get(name: string): Promise<string | undefined> {
    return ((await this.redis.send('CONFIG', 'GET', name)) as readonly string[])[1];
  }

  /** All that was sent and may change something. */
  get writes(): readonly string[] {
    return this.sent.filter((words) => !/^(?:CONFIG GET|INFO|COMMAND INFO|MODULE LIST)\b/.test(words));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stop();
    await rm(this.folder, { recursive: true, force: true });
  }

  async #stop(): Promise<void> {
    if (this.#isOwn) await this.#redis?.stop();
  }

  #context(redis: Spec | ReadonlyMap<string, string>, own: Partial<ClusterView>): StepContext {
    const entries = redis instanceof Map ? [...redis] : Object.entries(redis);
    const silent = (): void => {};
    const none = { root: '/none', get: () => ({ kind: 'missing' as const }) };
    return {
      settings: this.#settings(),
      cluster: clusterView({ redis: new Map(entries), ...own }),
      secrets: none,
      tls: none,
      peers: new Map(),
      clock: this.clock,
      log: { debug: silent, info: silent, warn: silent, error: silent },
      event: (type, reason, message) => this.events.push(`${type} ${reason}: ${message}`),
      tryServer: (trial, ask) => {
        this.trials += 1;
        return this.tryServer(trial, ask);
      },
      redis: this.#recorded(),
    };
  }

  #recorded(): Redis {
    return {
      send: (...words) => {
        this.sent.push(words.join(' '));
        this.beforeSend(words.map(String));
        return this.redis.send(...words);
      },
    };
  }

  #settings(): RedisAgentSettings {
    const { folder } = this;
    return {
      clusterName: 'redis',
      podName: 'redis-0',
      podNamespace: 'shop',
      podIp: '',
      mode: this.#mode,
      strict: false,
      paths: {
        dataDir: join(folder, 'data'),
        stateDir: join(folder, 'state'),
        secretsDir: '/none',
        tlsDir: '/none',
        aclFile: join(folder, 'users.acl'),
        socket: join(folder, 's'),
      },
      redisServer: 'redis-server',
      redisAddress: { host: '127.0.0.1', port: 6379 },
      bindAddress: '',
      listen: { host: '', port: 0 },
      stopTimeoutMs: 1000,
      resyncMs: 1000,
      statusIntervalMs: 1000,
    };
  }
}
