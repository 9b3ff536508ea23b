import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Snapshot } from '../../src/agent/files/snapshot.ts';
import { LocalRedis } from '../../src/agent/redis/connection/local-redis.ts';
import type { Redis, Reply } from '../../src/agent/redis/connection/redis.ts';
import { tryLogin } from '../../src/agent/redis/connection/try-login.ts';
import type { TryServer } from '../../src/agent/redis/server/trial.ts';
import type { RedisAgentSettings } from '../../src/agent/redis/settings.ts';
import type { SecretsReport } from '../../src/agent/redis/steps/secrets/secrets-report.ts';
import { createSecretsStep, type SecretsStep } from '../../src/agent/redis/steps/secrets/secrets-step.ts';
import type { PrepareContext, StepContext } from '../../src/agent/redis/steps/step.ts';
import type { ClusterView, InstanceEntry } from '../../src/domain/redis/cluster-view.ts';
import { clusterView } from './cluster-view.ts';
import { type RedisOptions, startRedis, type TestRedis, tryServerForTests } from './redis-process.ts';
import { type VirtualClock, virtualClock } from './virtual-clock.ts';

/** Projected Secrets as a test has them: `redis-auth/password`. */
export function snapshotOf(files: ReadonlyMap<string, string | Buffer>): Snapshot {
  return {
    root: '/projected',
    get(path) {
      const content = files.get(path);
      return content === undefined ? { kind: 'missing' } : { kind: 'bytes', bytes: Buffer.from(content) };
    },
  };
}

export interface PodOptions {
  readonly name?: string;
  readonly mode?: 'parent' | 'sidecar';
  readonly cluster?: Partial<ClusterView>;
  readonly files?: Readonly<Record<string, string | Buffer>>;
  /** How a sidecar's Redis is started by somebody else. */
  readonly redis?: RedisOptions;
  readonly clock?: VirtualClock;
  readonly host?: string;
}

/** A pod with a real Redis and the step for its passwords and users; nothing runs before `start`. */
export class SecretsPod implements AsyncDisposable {
  readonly name: string;
  readonly dir: string;
  readonly host: string | undefined;
  readonly clock: VirtualClock;
  /** The projected Secrets; change them as the kubelet would. */
  readonly files: Map<string, string | Buffer>;
  cluster: ClusterView;
  peers: ReadonlyMap<string, InstanceEntry> = new Map();
  step: SecretsStep;
  server: TestRedis | undefined;
  last: SecretsReport | undefined;
  /** Where the step tries a login, if not at its own Redis. */
  loginPath: string | undefined;
  readonly events: string[] = [];
  /** Everything that anybody could read: Events, log lines, reports. */
  readonly told: string[] = [];
  /** Every command that the step sent to its Redis, by its first two words. */
  readonly sent: string[] = [];
  readonly trials: string[] = [];
  readonly #options: PodOptions;
  #connection: LocalRedis | undefined;

  constructor(options: PodOptions = {}) {
    this.#options = options;
    this.name = options.name ?? 'redis-0';
    this.dir = mkdtempSync('/tmp/rs-');
    this.host = options.host;
    this.clock = options.clock ?? virtualClock(Date.parse('2026-01-01T00:00:00Z'));
    this.files = new Map(Object.entries(options.files ?? {}));
    this.cluster = clusterView(options.cluster);
    mkdirSync(join(this.dir, 'state'));
    this.step = this.#newStep();
  }

  /** The agent is killed; a new one finds what the old one has kept. */
  killAgent(): void {
    this.#connection?.close();
    this.#connection = undefined;
    this.step = this.#newStep();
  }

  /** Starts Redis as its agent does, or as somebody else does. */
  async start(): Promise<void> {
    const directives = await this.step.prepare(this.prepareContext());
    this.server = await startRedis({
      dir: this.dir,
      ...(this.host === undefined ? {} : { host: this.host }),
      ...this.#options.redis,
      directives: [...directives, ...(this.#options.redis?.directives ?? [])],
    });
  }

  /** kill -9, and a new server. */
  async restart(): Promise<void> {
    await this.server?.stop();
    await this.start();
  }

  async pass(): Promise<SecretsReport> {
    this.last = await this.step.apply(this.context());
    this.told.push(JSON.stringify(this.last));
    return this.last;
  }

  /** As an administrator. */
  async send(...words: readonly string[]): Promise<Reply> {
    return this.redis().send(...words);
  }

  async opens(password: string, user = 'default'): Promise<boolean> {
    return (await tryLogin({ path: this.#path }, { user, password })) === 'accepted';
  }

  /** The line of `ACL LIST`. */
  async user(name: string): Promise<string | undefined> {
    const lines = (await this.send('ACL', 'LIST')) as readonly string[];
    return lines.find((line) => line.startsWith(`user ${name} `))?.replace(' sanitize-payload', '');
  }

  async masterauth(): Promise<string> {
    return ((await this.send('CONFIG', 'GET', 'masterauth')) as readonly string[])[1] ?? '';
  }

  redis(): Redis {
    this.#connection ??= new LocalRedis({
      target: () => ({ path: this.#path }),
      credentials: () => this.step.credentials(),
    });
    return this.#connection;
  }

  prepareContext(): PrepareContext {
    const tryServer: TryServer = (trial, ask) => {
      this.trials.push(trial.acl ?? '');
      return tryServerForTests()(trial, ask);
    };
    const log = (message: string, fields?: object): void => {
      this.told.push(`${message} ${JSON.stringify(fields ?? {})}`);
    };
    return {
      settings: this.#settings(),
      cluster: this.cluster,
      secrets: snapshotOf(this.files),
      tls: snapshotOf(new Map()),
      tryServer,
      peers: this.peers,
      clock: this.clock,
      log: { debug: log, info: log, warn: log, error: log },
      event: (type, reason, message) => {
        this.events.push(`${type} ${reason}: ${message}`);
        this.told.push(message);
      },
    };
  }

  context(): StepContext {
    const redis: Redis = {
      send: (...words) => {
        this.sent.push(words.slice(0, 2).join(' '));
        return this.redis().send(...words);
      },
    };
    return { ...this.prepareContext(), redis };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#connection?.close();
    await this.server?.stop();
    rmSync(this.dir, { recursive: true, force: true });
  }

  get #path(): string {
    return this.server?.path ?? '';
  }

  #newStep(): SecretsStep {
    return createSecretsStep(this.#settings(), {
      localTarget: () => ({ path: this.loginPath ?? this.#path }),
      upstreamTarget: (host, port) => ({ host, port }),
    });
  }

  #settings(): RedisAgentSettings {
    return {
      clusterName: 'redis',
      podName: this.name,
      podNamespace: 'shop',
      podIp: this.host ?? '',
      mode: this.#options.mode ?? 'parent',
      strict: false,
      paths: {
        dataDir: this.dir,
        stateDir: join(this.dir, 'state'),
        secretsDir: '/projected',
        tlsDir: '/tls',
        aclFile: join(this.dir, 'users.acl'),
        socket: this.#path,
      },
      redisServer: 'redis-server',
      redisAddress: { host: '127.0.0.1', port: 6379 },
      bindAddress: '',
      listen: { host: '', port: 0 },
      stopTimeoutMs: 5000,
      resyncMs: 30_000,
      statusIntervalMs: 5000,
    };
  }
}

/** Every pod sees what the others have said of themselves in their last pass. */
export function shareReports(pods: readonly SecretsPod[]): void {
  for (const pod of pods) {
    const others = pods.filter((other) => other !== pod);
    pod.peers = new Map(others.map(({ name, last }) => [name, last ? { credentials: last.credentials } : {}]));
  }
}
