import { randomInt } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { environment } from '../src/config/load.ts';
import { writeKubeconfig } from '../src/sandbox/control-plane/write-kubeconfig.ts';
import { type Sandbox, startSandbox } from '../src/sandbox/sandbox.ts';
import { type Access, Api, now } from './api.ts';
import { AuditLog, type Calls, countCalls } from './audit.ts';
import { type Contender, commandOf, createServiceAccount, namespaceOf, type Rights, userOf } from './contender.ts';
import { type Delivery, deliveryOf, type Put } from './delivery.ts';
import { markIn, markOf } from './marks.ts';
import { clear, createAll, type Data, objectPath, type SourceName, sourceManifest, workload } from './objects.ts';
import { Program } from './program.ts';
import { Watcher, workloadKey } from './watcher.ts';

export interface Measured {
  readonly calls: Calls;
  readonly cpuMs: number;
}

const CANARY: SourceName = { kind: 'ConfigMap', namespace: 'bench-canary', name: 'canary' };
const CANARY_KEY = workloadKey('Deployment', CANARY.namespace, CANARY.name);

/** An API server, and all that starts, loads and measures the contenders on it. */
export class BenchCluster {
  readonly api: Api;
  readonly watcher: Watcher;
  readonly dir: string;
  readonly #sandbox: Sandbox;
  readonly #audit: AuditLog;
  readonly #namespaces = new Set<string>();
  readonly #access = new Map<string, Access>();
  readonly #running = new Set<Program>();
  readonly #atStop = new Set<() => void>();
  #changes = 0;
  #closed = false;

  private constructor(sandbox: Sandbox, api: Api, watcher: Watcher, dir: string) {
    this.#sandbox = sandbox;
    this.api = api;
    this.watcher = watcher;
    this.dir = dir;
    this.#audit = new AuditLog(sandbox.auditLog, api);
  }

  static async open(dir: string, say: (line: string) => void, etcdQuotaBytes?: number): Promise<BenchCluster> {
    mkdirSync(dir, { recursive: true });
    const sandbox = await startSandbox(
      {
        name: `bench-${process.pid}`,
        env: environment(),
        apiOnly: true,
        owned: true,
        audit: 'metadata',
        ...(etcdQuotaBytes === undefined ? {} : { etcdQuotaBytes }),
      },
      say,
    );
    const authority = readFileSync(sandbox.caFile, 'utf8');
    const access = { server: sandbox.server, authority, token: sandbox.adminToken };
    const api = new Api(access);
    const cluster = new BenchCluster(sandbox, api, await Watcher.start(access), dir);
    await cluster.namespace(CANARY.namespace);
    return cluster;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.stopAll();
    this.watcher.close();
    this.#audit.close();
    this.api.close();
    await this.#sandbox.stop();
  }

  /** The folder with the API server's own certificate and key. */
  get certificates(): string {
    return join(this.#sandbox.dir, 'certificates');
  }

  async namespace(name: string): Promise<string> {
    await createAll(this.api, [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }]);
    this.#namespaces.add(name);
    return name;
  }

  /** Removes everything that a scenario created, and what contenders keep for themselves. */
  async clear(contenders: readonly Contender[]): Promise<void> {
    await clear(this.api, [...this.#namespaces, ...contenders.map(({ name }) => namespaceOf(name))]);
    this.watcher.reset();
  }

  async accessOf(name: string, rights: Rights = 'all'): Promise<Access> {
    const known = this.#access.get(name);
    if (known) return known;
    const access = await createServiceAccount(this.api, name, rights);
    this.#access.set(name, access);
    return access;
  }

  /** Starts a contender; undefined where it cannot take part. It may not be ready yet. */
  async start(contender: Contender, options: StartOptions = {}): Promise<Program | undefined> {
    const command = commandOf(contender, options.flags ?? [], options.atOnce ?? true);
    if (command === undefined) return undefined;
    await this.#placeCanary();
    const access = await this.accessOf(contender.name, contender.rights);
    const namespace = namespaceOf(contender.name);
    const kubeconfig = join(this.dir, `${contender.name}.kubeconfig`);
    writeKubeconfig(kubeconfig, contender.name, { ...access, server: options.server ?? access.server, namespace });
    const program = Program.start(
      command,
      {
        PATH: environment()['PATH'] ?? '',
        HOME: this.dir,
        KUBECONFIG: kubeconfig,
        POD_NAMESPACE: namespace,
        POD_NAME: `${contender.name}-${options.copy ?? 0}`,
        ATTUNE_LISTEN_ADDRESS: `127.${randomInt(2, 250)}.${randomInt(250)}.${randomInt(1, 250)}`,
      },
      join(this.dir, `${contender.name}.log`),
    );
    return this.#keep(program);
  }

  async #placeCanary(): Promise<void> {
    const { namespace, name } = CANARY;
    await createAll(this.api, [
      sourceManifest(CANARY, this.freshData()),
      workload('Deployment', namespace, name, { uses: [CANARY] }),
    ]);
  }

  async startFloor(args: readonly string[]): Promise<Program> {
    const file = join(this.dir, 'floor.access.json');
    writeFileSync(file, JSON.stringify(await this.accessOf('floor')), { mode: 0o600 });
    const script = join(import.meta.dirname, 'floor.ts');
    const command = [process.execPath, script, `--access=${file}`, ...args].map((part) => `'${part}'`).join(' ');
    const program = this.#keep(
      Program.start(command, { PATH: environment()['PATH'] ?? '' }, join(this.dir, 'floor.log')),
    );
    await program.says('ready');
    return program;
  }

  /** Starts a program that is no contender of its own; it ends with the cluster at the latest. */
  launch(command: string, env: Readonly<Record<string, string>>): Program {
    return this.#keep(Program.start(command, env, join(this.dir, 'launched.log')));
  }

  /** To be done when a scenario breaks off, the last first; the function that is returned does it now. */
  onStop(work: () => void): () => void {
    this.#atStop.add(work);
    return () => {
      this.#atStop.delete(work);
      work();
    };
  }

  #keep(program: Program): Program {
    this.#running.add(program);
    return program;
  }

  async stop(program: Program, signal?: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    this.#running.delete(program);
    await program.stop(signal);
  }

  async stopAll(): Promise<void> {
    for (const program of this.#running) await this.stop(program, 'SIGKILL');
    for (const work of [...this.#atStop].reverse()) work();
    this.#atStop.clear();
  }

  /** Data that no source had before. */
  freshData(): Data {
    this.#changes += 1;
    return { value: `${now().toFixed(3)}-${this.#changes}` };
  }

  async put(source: SourceName, workloads: readonly string[], data: Data = this.freshData()): Promise<Put> {
    const path = objectPath(source.kind, source.namespace, source.name);
    const { at, text } = await this.api.call('PUT', path, sourceManifest(source, data));
    const { metadata } = JSON.parse(text) as { readonly metadata: { readonly resourceVersion: string } };
    const mark = markOf(data);
    const isStale = (template: string): boolean => (markIn(template, source) ?? mark) !== mark;
    return { source: path, workloads, at, version: Number(metadata.resourceVersion), isStale };
  }

  /** True when every workload of the change has a newer template. */
  async carriedOut(change: Put, deadlineMs: number): Promise<boolean> {
    const open = new Set(change.workloads);
    return await this.watcher.until(() => {
      for (const key of open) {
        const last = this.watcher.rollouts.get(key)?.at(-1);
        if (!last || last.version <= change.version) return false;
        open.delete(key);
      }
      return true;
    }, deadlineMs);
  }

  /** Changes the source of the canary workload until a contender reacts: milliseconds from its start to the new template. */
  async firstReaction(program: Program, pokeMs = 25, deadlineMs = 120_000): Promise<number> {
    const before = this.watcher.rollouts.get(CANARY_KEY)?.length ?? 0;
    const reaction = () => this.watcher.rollouts.get(CANARY_KEY)?.[before];
    const deadline = now() + deadlineMs;
    while (!reaction()) {
      if (now() > deadline) throw new Error('no reaction to any change');
      program.check();
      await this.put(CANARY, []);
      await this.watcher.until(() => reaction() !== undefined, pokeMs);
    }
    const took = (reaction()?.at ?? Number.NaN) - program.startedAt;
    await this.calm(Math.max(300, 2 * pokeMs));
    return took;
  }

  /** Waits until there was no rollout for so long. */
  async calm(quietMs: number): Promise<void> {
    for (let count = this.watcher.count; ; count = this.watcher.count) {
      await delay(quietMs);
      if (this.watcher.count === count) return;
    }
  }

  /** What became of changes so far. */
  delivery(puts: readonly Put[]): Delivery {
    return deliveryOf(puts, this.watcher.rollouts, (key) => this.watcher.template(key));
  }

  /** Waits until no change is missing and there are no more rollouts, or for the deadline. */
  async settled(puts: readonly Put[], deadlineMs: number, calmMs = 3000): Promise<Delivery> {
    await this.watcher.until(() => this.delivery(puts).missed === 0, deadlineMs);
    await this.calm(calmMs);
    return this.delivery(puts);
  }

  /** Forgets the rollouts so far, which are those of the canary. */
  resetRollouts(): void {
    this.watcher.reset();
  }

  /** Runs `work` and returns what it cost a program. If `work` starts another program instead, it returns that one. */
  async measure(name: string, program: Program, work: () => Promise<unknown>): Promise<Measured> {
    await this.#audit.lines();
    const before = program.cpuMs();
    const next = await work();
    const cpuMs = next instanceof Program && next !== program ? next.cpuMs() : program.cpuMs() - before;
    return { cpuMs, calls: countCalls(await this.#audit.lines(), userOf(name)) };
  }
}

export interface StartOptions {
  readonly flags?: readonly string[];
  /** Whether it reacts without a quiet period; by default it does. */
  readonly atOnce?: boolean;
  /** Another way to the API server. */
  readonly server?: string;
  readonly copy?: number;
}

/** The machine's load average over the last minute. */
export function loadNow(): number {
  return loadavg()[0] ?? Number.NaN;
}
