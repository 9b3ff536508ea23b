import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readSnapshot } from '../../src/agent/files/read-snapshot.ts';
import type { Redis } from '../../src/agent/redis/connection/redis.ts';
import type { RedisAgentSettings } from '../../src/agent/redis/settings.ts';
import type { Directive, PrepareContext } from '../../src/agent/redis/steps/step.ts';
import type { TlsReport } from '../../src/agent/redis/steps/tls/report.ts';
import { createTlsStep, type TlsStep } from '../../src/agent/redis/steps/tls/tls-step.ts';
import type { ClusterView, InstanceEntry } from '../../src/domain/redis/cluster-view.ts';
import { clusterView } from './cluster-view.ts';
import { mountTls, type TlsFiles } from './redis-certificates.ts';
import { loopbackAddress, startRedis, type TestRedis, tryServerForTests } from './redis-process.ts';
import { type VirtualClock, virtualClock } from './virtual-clock.ts';

/** A Redis with TLS, its mounted files, and the step that looks after its certificates; the rest of an agent is left out. */
export interface TlsPod extends AsyncDisposable {
  readonly name: string;
  readonly host: string;
  readonly dir: string;
  readonly settings: RedisAgentSettings;
  readonly clock: VirtualClock;
  /** `Normal CertificatesRotated redis-0 serves …` */
  readonly events: string[];
  /** What the step has sent to Redis, each as one line. */
  readonly sent: string[];
  readonly redis: TestRedis;
  readonly step: TlsStep;
  cluster: ClusterView;
  /** Swaps the mounted files. */
  mount(files: TlsFiles): Promise<void>;
  prepare(): Promise<readonly Directive[]>;
  /** Starts Redis, with what `prepare` says unless told otherwise; one that runs is killed before. */
  start(directives?: readonly Directive[]): Promise<void>;
  apply(peers?: Readonly<Record<string, InstanceEntry>>): Promise<TlsReport>;
  /** As if the agent was killed: only what is on disk is left. */
  restartAgent(): void;
  /** The next command that begins like this is answered so, instead of by Redis. */
  intercept(command: string, answer: (pass: () => Promise<unknown>) => Promise<unknown>): void;
}

export async function tlsPod(name = 'redis-0', mode: RedisAgentSettings['mode'] = 'parent'): Promise<TlsPod> {
  const dir = await mkdtemp('/tmp/tp-');
  const host = loopbackAddress();
  const settings = settingsFor(dir, { name, host, mode });
  await mkdir(settings.paths.tlsDir);
  await mkdir(settings.paths.dataDir);
  return new Pod(name, { dir, host, settings });
}

class Pod implements TlsPod {
  readonly name: string;
  readonly host: string;
  readonly dir: string;
  readonly settings: RedisAgentSettings;
  readonly clock = virtualClock(Date.now());
  readonly events: string[] = [];
  readonly sent: string[] = [];
  cluster = clusterView({ tls: true });
  step: TlsStep;
  #redis: TestRedis | undefined;
  #intercepted:
    | { readonly command: string; readonly answer: (pass: () => Promise<unknown>) => Promise<unknown> }
    | undefined;

  constructor(name: string, { dir, host, settings }: { dir: string; host: string; settings: RedisAgentSettings }) {
    this.name = name;
    this.host = host;
    this.dir = dir;
    this.settings = settings;
    this.step = this.#newStep();
  }

  get redis(): TestRedis {
    if (!this.#redis) throw new Error('Redis was not started');
    return this.#redis;
  }

  mount(files: TlsFiles): Promise<void> {
    return mountTls(this.settings.paths.tlsDir, files);
  }

  async prepare(): Promise<readonly Directive[]> {
    return await this.step.prepare(await this.#context({}));
  }

  async start(directives?: readonly Directive[]): Promise<void> {
    await this.#redis?.stop();
    this.#redis = await startRedis({
      host: this.host,
      dir: this.settings.paths.dataDir,
      directives: [
        ['port', '0'],
        ['tls-port', '6379'],
        ['tls-auth-clients', 'optional'],
        ['tls-replication', 'yes'],
        ['protected-mode', 'no'],
        ['repl-diskless-sync-delay', '0'],
        ...(directives ?? (await this.prepare())),
      ],
    });
  }

  async apply(peers: Readonly<Record<string, InstanceEntry>> = {}): Promise<TlsReport> {
    const redis: Redis = {
      send: async (...words) => {
        const line = words.map(String).join(' ');
        this.sent.push(line);
        const intercepted = this.#intercepted;
        const pass = (): ReturnType<Redis['send']> => this.redis.send(...words);
        if (!intercepted || !line.startsWith(intercepted.command)) return await pass();
        this.#intercepted = undefined;
        return (await intercepted.answer(pass)) as Awaited<ReturnType<Redis['send']>>;
      },
    };
    return await this.step.apply({ ...(await this.#context(peers)), redis });
  }

  restartAgent(): void {
    this.step = this.#newStep();
  }

  intercept(command: string, answer: (pass: () => Promise<unknown>) => Promise<unknown>): void {
    this.#intercepted = { command, answer };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#redis?.stop();
    await rm(this.dir, { recursive: true, force: true });
  }

  #newStep(): TlsStep {
    return createTlsStep(this.settings, { redisTarget: () => ({ host: this.host, port: 6379 }) });
  }

  async #context(peers: Readonly<Record<string, InstanceEntry>>): Promise<PrepareContext> {
    const quiet = (): void => undefined;
    return {
      settings: this.settings,
      cluster: this.cluster,
      secrets: await readSnapshot(this.settings.paths.secretsDir),
      tls: await readSnapshot(this.settings.paths.tlsDir),
      tryServer: tryServerForTests(),
      peers: new Map(Object.entries(peers)),
      clock: this.clock,
      log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
      event: (...words) => void this.events.push(words.join(' ')),
    };
  }
}

const settingsFor = (
  dir: string,
  { name, host, mode }: { readonly name: string; readonly host: string; readonly mode: RedisAgentSettings['mode'] },
): RedisAgentSettings => ({
  clusterName: 'redis',
  podName: name,
  podNamespace: 'shop',
  podIp: host,
  mode,
  strict: false,
  paths: {
    dataDir: join(dir, 'data'),
    stateDir: join(dir, 'state'),
    secretsDir: join(dir, 'projected'),
    tlsDir: join(dir, 'tls'),
    aclFile: join(dir, 'data/users.acl'),
    socket: '',
  },
  redisServer: 'redis-server',
  redisAddress: { host, port: 6379 },
  bindAddress: host,
  listen: { host, port: 8080 },
  stopTimeoutMs: 5_000,
  resyncMs: 30_000,
  statusIntervalMs: 5_000,
});
