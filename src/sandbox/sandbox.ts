import { mkdirSync, writeFileSync } from 'node:fs';
import type { ApiAccess } from './api-request.ts';
import { type BinaryOptions, findBinaries } from './binaries.ts';
import {
  API_COMPONENTS,
  type ControlPlaneComponent,
  type ControlPlaneSettings,
  commandLine,
  etcdUrl,
  layout,
  NODE_COMPONENTS,
} from './control-plane.ts';
import { writeAuditPolicy, writeCredentials, writeKubeconfig } from './credentials.ts';
import { type Environment, sandboxFolder } from './folders.ts';
import { locked } from './lock.ts';
import { freePorts } from './ports.ts';
import { ownIdentity } from './process-identity.ts';
import { apiReady, authorityWritten, controllersReady, etcdReady, nodesReady } from './readiness.ts';
import { end, lastLines, logFile, type RecordedProcess, start } from './recorded-process.ts';
import type { Progress } from './release.ts';
import {
  clearAway,
  isAbandoned,
  readRecord,
  removeIfEmpty,
  type SandboxRecord,
  sandboxNames,
  writeRecord,
} from './sandbox-record.ts';
import { stages } from './stages.ts';

export interface SandboxOptions {
  readonly name: string;
  readonly env: Environment;
  /** Only etcd and kube-apiserver: objects are stored and nothing acts on them. */
  readonly apiOnly?: boolean;
  readonly nodes?: number;
  /** Keeps the data when the sandbox ends; the next one of the same name begins with it. */
  readonly keep?: boolean;
  /** The sandbox ends with this process: what a killed process leaves behind, the next start of any sandbox clears. */
  readonly owned?: boolean;
  /** A line of JSON in `auditLog` for each request of others than the control plane itself. */
  readonly audit?: 'metadata';
  readonly etcdQuotaBytes?: number;
  /** Images, by the last part of their name, whose pods kwok leaves to the runner of processes. */
  readonly processImages?: readonly string[];
  readonly binaries?: Omit<BinaryOptions, 'env'>;
  readonly signal?: AbortSignal;
}

/** A running control plane. */
export interface Sandbox {
  readonly name: string;
  /** Everything about it is in this folder. */
  readonly dir: string;
  readonly kubeconfig: string;
  readonly server: string;
  readonly adminToken: string;
  readonly caFile: string;
  /** Written only when `audit` was asked for. */
  readonly auditLog: string;
  /** Ends all processes and removes the folder (with `keep`, all but the data). Returns when they are gone. */
  stop(options?: { readonly keep?: boolean }): Promise<void>;
  /** kill -9; returns when the process is gone. */
  kill(component: ControlPlaneComponent): Promise<void>;
  /** Starts a killed component again, with the same ports and data. */
  revive(component: ControlPlaneComponent): Promise<void>;
  /** Lets this process end while the sandbox runs on. */
  release(): void;
}

/** Starts a control plane, having cleared away what an earlier one of the same name left behind. */
export async function startSandbox(options: SandboxOptions, progress: Progress): Promise<Sandbox> {
  const { env, name } = options;
  const dir = sandboxFolder(env, name);
  const components = options.apiOnly ? API_COMPONENTS : [...API_COMPONENTS, ...NODE_COMPONENTS];
  const binaries = await findBinaries(components, { ...options.binaries, env }, progress);
  await clearAbandoned(env, progress);
  return await locked(`${dir}.lock`, waitingFor(name, progress), async () => {
    const before = readRecord(dir);
    if (before?.owner && !isAbandoned(before)) {
      throw new Error(`the sandbox ${name} belongs to process ${before.owner.pid}`);
    }
    const clear = () => clearAway(dir, before?.keep ?? false);
    await clear();
    return await startWithFreePorts(() => startOnce(dir, options, binaries, progress), clear, progress);
  });
}

/** A port may be taken by another program between its choice and its use. */
async function startWithFreePorts(
  attempt: () => Promise<Sandbox>,
  clear: () => Promise<void>,
  progress: Progress,
): Promise<Sandbox> {
  for (let left = 3; ; left--) {
    try {
      return await attempt();
    } catch (error) {
      await clear();
      if (left === 1 || !(error instanceof ComponentEnded && error.portTaken)) throw error;
      progress('a port was taken meanwhile; starting again with others');
    }
  }
}

/** Ends a sandbox that another process started; false when there is none of that name. */
export async function stopSandbox(env: Environment, name: string, keep: boolean, progress: Progress): Promise<boolean> {
  const dir = sandboxFolder(env, name);
  return await locked(`${dir}.lock`, waitingFor(name, progress), async () => {
    const record = readRecord(dir);
    await clearAway(dir, keep || (record?.keep ?? false));
    return record !== undefined;
  }).finally(() => removeIfEmpty(env));
}

async function clearAbandoned(env: Environment, progress: Progress): Promise<void> {
  for (const name of sandboxNames(env)) {
    const dir = sandboxFolder(env, name);
    if (!isAbandoned(readRecord(dir))) continue;
    await locked(`${dir}.lock`, waitingFor(name, progress), async () => {
      const record = readRecord(dir);
      if (!isAbandoned(record)) return;
      progress(`clearing away the sandbox ${name}, whose process ${record?.owner?.pid} has died`);
      await clearAway(dir, record?.keep ?? false);
    });
  }
}

async function startOnce(
  dir: string,
  options: SandboxOptions,
  binaries: ControlPlaneSettings['binaries'],
  progress: Progress,
): Promise<Sandbox> {
  const files = layout(dir);
  const ports = await freePorts();
  const settings: ControlPlaneSettings = {
    dir,
    ports,
    binaries,
    audit: options.audit,
    etcdQuotaBytes: options.etcdQuotaBytes,
  };
  const server = `https://127.0.0.1:${ports.api}`;
  const record: SandboxRecord = {
    name: options.name,
    server,
    owner: options.owned ? ownIdentity() : undefined,
    keep: options.keep ?? false,
    ready: false,
  };
  writeRecord(dir, record);
  const tokens = writeCredentials(dir);
  if (options.audit) writeAuditPolicy(dir);
  writeFileSync(files.stages, stages(options.processImages ?? ['attune']));
  mkdirSync(files.certificates, { recursive: true });

  const crew = new Crew(dir, settings, options.env, progress);
  await crew.during(options.signal, async (signal) => {
    crew.start('etcd');
    await etcdReady(etcdUrl(ports), signal);
    crew.start('kube-apiserver');
    const authority = await authorityWritten(files.authority, signal);
    const access: ApiAccess = { server, authority, token: tokens.admin };
    writeKubeconfig(files.kubeconfig, `attune-${options.name}`, access);
    await apiReady(access, signal);
    if (options.apiOnly) return;
    for (const component of NODE_COMPONENTS) {
      const token = tokens[component as 'kwok'];
      writeKubeconfig(files.componentKubeconfig(component), component, { ...access, token });
      crew.start(component);
    }
    await Promise.all([controllersReady(access, signal), nodesReady(access, options.nodes ?? 1, signal)]);
  });
  writeRecord(dir, { ...record, ready: true });

  return {
    name: options.name,
    dir,
    kubeconfig: files.kubeconfig,
    server,
    adminToken: tokens.admin,
    caFile: files.authority,
    auditLog: files.auditLog,
    async stop(stopping = {}) {
      crew.dismiss();
      await stopSandbox(options.env, options.name, stopping.keep ?? false, progress);
    },
    kill: (component) => crew.kill(component),
    async revive(component) {
      crew.start(component);
    },
    release: () => crew.release(),
  };
}

/** A component has ended that should not have. */
class ComponentEnded extends Error {
  readonly portTaken: boolean;

  constructor(dir: string, component: string, how: string) {
    const lines = lastLines(dir, component);
    const log = lines.map((line) => `\n    ${line}`).join('');
    super(`${component} ${how}; the last lines of ${logFile(dir, component)}:${log}`);
    this.portTaken = lines.some((line) => line.includes('address already in use'));
  }
}

/** The processes of one sandbox, and what to do when one of them ends unasked. */
class Crew {
  readonly #processes = new Map<ControlPlaneComponent, RecordedProcess>();
  readonly #settings: ControlPlaneSettings;
  readonly #env: Environment;
  readonly #dir: string;
  /** Told when a component ends unasked: by default whoever reads the progress. */
  #ended: (error: ComponentEnded) => void;
  readonly #progress: (error: ComponentEnded) => void;

  constructor(dir: string, settings: ControlPlaneSettings, env: Environment, progress: Progress) {
    this.#dir = dir;
    this.#settings = settings;
    // Nothing of the caller's settings may change a component's behaviour.
    this.#env = { PATH: env['PATH'], HOME: dir, TMPDIR: env['TMPDIR'] };
    this.#progress = (error) => progress(error.message);
    this.#ended = this.#progress;
  }

  start(component: ControlPlaneComponent): void {
    const argv = commandLine(component, this.#settings);
    const process = start(this.#dir, { name: component, argv, env: this.#env });
    this.#processes.set(component, process);
    void process.ended.then((how) => {
      if (this.#processes.get(component) !== process) return;
      this.#processes.delete(component);
      this.#ended(new ComponentEnded(this.#dir, component, how));
    });
  }

  /** Runs `work`, and breaks it off when a component ends or `outer` says so. */
  async during(outer: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const ended = new AbortController();
    this.#ended = (error) => ended.abort(error);
    const signal = outer ? AbortSignal.any([outer, ended.signal]) : ended.signal;
    try {
      await work(signal);
      signal.throwIfAborted();
    } catch (error) {
      this.dismiss();
      throw signal.aborted ? signal.reason : error;
    }
    this.#ended = this.#progress;
  }

  async kill(component: ControlPlaneComponent): Promise<void> {
    const process = this.#processes.get(component);
    if (!process) throw new Error(`${component} does not run`);
    this.#processes.delete(component);
    await end(process.identity, 0);
    await process.ended;
  }

  /** From now on nobody is surprised when a component ends. */
  dismiss(): void {
    this.#processes.clear();
  }

  release(): void {
    for (const process of this.#processes.values()) process.release();
  }
}

function waitingFor(name: string, progress: Progress): (pid: number) => void {
  return (pid) => progress(`process ${pid} is busy with the sandbox ${name}; waiting`);
}
