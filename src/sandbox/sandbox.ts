import { mkdirSync, writeFileSync } from 'node:fs';
import { clearAbandoned } from './abandoned.ts';
import { type BinaryOptions, findBinaries } from './binaries/binaries.ts';
import type { Activity, Progress } from './binaries/release.ts';
import type { ApiAccess } from './control-plane/api-request.ts';
import { ComponentEnded, Components } from './control-plane/components.ts';
import {
  API_COMPONENTS,
  type ControlPlaneComponent,
  type ControlPlaneSettings,
  etcdUrl,
  layout,
  NODE_COMPONENTS,
} from './control-plane/control-plane.ts';
import { writeAuditPolicy, writeCredentials, writeKubeconfig } from './control-plane/credentials.ts';
import { freePorts } from './control-plane/ports.ts';
import { apiReady, authorityWritten, controllersReady, etcdReady, nodesReady } from './control-plane/readiness.ts';
import { stages } from './control-plane/stages.ts';
import { type Environment, makeFolder, sandboxesFolder, sandboxFolder, withPlace } from './folders.ts';
import { inspectSandbox } from './inspect.ts';
import { locked } from './lock.ts';
import { atExit } from './processes/at-exit.ts';
import { ownIdentity } from './processes/process-identity.ts';
import { clearAway, clearAwayNow, readRecord, type SandboxRecord, writeRecord } from './sandbox-record.ts';

const UNWRITABLE = 'set XDG_STATE_HOME';

export interface SandboxOptions {
  readonly name: string;
  readonly env: Environment;
  /** Only etcd and kube-apiserver: objects are stored and nothing acts on them. */
  readonly apiOnly?: boolean;
  readonly nodes?: number;
  /** Keeps the data when the sandbox ends; the next one of the same name begins with it. */
  readonly keep?: boolean;
  /** The sandbox ends with this process, however that ends; after a kill -9 the next start of any sandbox clears up. */
  readonly owned?: boolean;
  /** A line of JSON in `auditLog` for each request of others than the control plane itself. */
  readonly audit?: 'metadata';
  readonly etcdQuotaBytes?: number;
  /** Images, by the last part of their name, whose pods kwok leaves to the runner of processes. */
  readonly processImages?: readonly string[];
  readonly binaries?: Omit<BinaryOptions, 'env' | 'signal' | 'activity'>;
  readonly signal?: AbortSignal;
  /** Told what is done at this moment. */
  readonly activity?: Activity;
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
  const { signal, activity } = options;
  makeFolder(sandboxesFolder(env), UNWRITABLE);
  const binaries = await findBinaries(components, { ...options.binaries, env, signal, activity }, progress);
  activity?.('starting the control plane');
  await clearAbandoned(env, progress, signal);
  const start = async (): Promise<Sandbox> => {
    const before = readRecord(dir);
    if (before && inspectSandbox(env, name)?.state === 'up') {
      if (options.keep) writeRecord(dir, { ...before, keep: true });
      throw new AlreadyUp(name, before.owner?.pid);
    }
    const keep = before?.keep ?? false;
    const clear = (keepLogs: boolean) => clearAway(dir, keep, keepLogs);
    await clear(false);
    const callOff = atExit(() => clearAwayNow(dir, keep));
    const attempt = () => startOnce(dir, options, binaries, progress);
    const sandbox = await startWithFreePorts(attempt, clear, { progress, signal });
    if (!options.owned) callOff();
    return sandbox;
  };
  try {
    return await locked(`${dir}.lock`, { waiting: waitingFor(name, progress), signal }, start);
  } catch (error) {
    throw withPlace(error, dir);
  }
}

/** A port may be taken by another program between its choice and its use. */
async function startWithFreePorts(
  attempt: () => Promise<Sandbox>,
  clear: (keepLogs: boolean) => Promise<void>,
  { progress, signal }: { readonly progress: Progress; readonly signal: AbortSignal | undefined },
): Promise<Sandbox> {
  for (let left = 3; ; left--) {
    try {
      return await attempt();
    } catch (error) {
      const again = left > 1 && error instanceof ComponentEnded && error.portTaken;
      // A failure names a log; nobody reads the logs of what was called off.
      await clear(!again && !signal?.aborted);
      if (!again) throw error;
      progress('a port was taken meanwhile; starting again with others');
    }
  }
}

/** Ends a sandbox that another process started; false when there is none of that name. */
export async function stopSandbox(env: Environment, name: string, keep: boolean, progress: Progress): Promise<boolean> {
  const dir = sandboxFolder(env, name);
  makeFolder(sandboxesFolder(env), UNWRITABLE);
  return await locked(`${dir}.lock`, { waiting: waitingFor(name, progress) }, async () => {
    const record = readRecord(dir);
    await clearAway(dir, keep || (record?.keep ?? false));
    return record !== undefined;
  });
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
    // Until it is ready it belongs to whoever starts it: if that one dies, nobody else wants it.
    owner: ownIdentity(),
    keep: options.keep ?? false,
    ready: false,
  };
  writeRecord(dir, record);
  const tokens = writeCredentials(dir);
  if (options.audit) writeAuditPolicy(dir);
  writeFileSync(files.stages, stages(options.processImages ?? ['attune']));
  mkdirSync(files.certificates, { recursive: true });

  const crew = new Components(dir, settings, options.env, progress);
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
  writeRecord(dir, { ...record, owner: options.owned ? record.owner : undefined, ready: true });

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

/** There is a sandbox of this name, and it works; whatever else was asked for, only `keep` is heeded. */
export class AlreadyUp extends Error {
  constructor(name: string, owner: number | undefined) {
    super(`the sandbox ${name} is up already${owner === undefined ? '' : ` and belongs to process ${owner}`}`);
  }
}

function waitingFor(name: string, progress: Progress): (pid: number) => void {
  return (pid) => progress(`process ${pid} is busy with the sandbox ${name}; waiting`);
}
