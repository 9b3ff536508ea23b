import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { ownIdentity } from '../runtime/process-identity.ts';
import { type BinaryOptions, findBinaries } from './binaries/binaries.ts';
import type { ApiAccess } from './control-plane/api-request.ts';
import { ComponentEnded, Components } from './control-plane/components.ts';
import {
  API_COMPONENTS,
  type ControlPlaneComponent,
  type ControlPlaneSettings,
  NODE_COMPONENTS,
  sandboxFiles,
} from './control-plane/control-plane.ts';
import { freePorts } from './control-plane/ports.ts';
import { stages } from './control-plane/stages.ts';
import {
  createNodes,
  waitForApiServer,
  waitForAuthority,
  waitForControllerManager,
  waitForEtcd,
  waitForListener,
} from './control-plane/startup.ts';
import { writeAuditPolicy, writeUsers } from './control-plane/users.ts';
import { writeKubeconfig } from './control-plane/write-kubeconfig.ts';
import { type Environment, explainFullDisk, makeFolder, sandboxesFolder, sandboxFolder } from './folders.ts';
import { inspectSandbox } from './inspect.ts';
import { withLock } from './lock.ts';
import { onExit } from './processes/exit-hooks.ts';
import type { Say, ShowStatus } from './progress.ts';
import { REDIS_IMAGE } from './redis/redis-image.ts';
import { removeOwnSandboxSync, removeSandbox } from './remove-sandbox.ts';
import { removeStaleSandboxes } from './stale-sandboxes.ts';
import { readStateFile, type StateFile, writeStateFile } from './state-file.ts';

const UNWRITABLE = 'set XDG_STATE_HOME';

export interface SandboxOptions {
  readonly name: string;
  readonly env: Environment;
  /** Only etcd and kube-apiserver: objects are stored and nothing acts on them. */
  readonly apiOnly?: boolean;
  readonly nodes?: number;
  /** Keeps the data when the sandbox ends; the next sandbox of the same name starts with it. */
  readonly keep?: boolean;
  /** The sandbox ends with this process. After a kill -9 of this process, the next start of any sandbox removes it. */
  readonly owned?: boolean;
  /** Writes a line of JSON to `auditLog` for each request that does not come from the control plane itself. */
  readonly audit?: 'metadata';
  readonly etcdQuotaBytes?: number;
  /** Images, by the last part of their name, whose pods kwok leaves to the pod runner. */
  readonly processImages?: readonly string[];
  readonly binaries?: Omit<BinaryOptions, 'env' | 'signal' | 'showStatus'>;
  readonly signal?: AbortSignal;
  readonly showStatus?: ShowStatus;
}

/** A running control plane. */
export interface Sandbox {
  readonly name: string;
  readonly dir: string;
  readonly kubeconfig: string;
  readonly server: string;
  readonly adminToken: string;
  readonly caFile: string;
  /** Written only when `audit` was asked for. */
  readonly auditLog: string;
  /** Ends all processes and removes the folder (with `keep`, except for the data). Returns when they are gone. */
  stop(options?: { readonly keep?: boolean }): Promise<void>;
  /** kill -9; returns when the process is gone. */
  kill(component: ControlPlaneComponent): Promise<void>;
  /** Starts a killed component again, with the same ports and data. */
  revive(component: ControlPlaneComponent): Promise<void>;
  /** Lets this process end while the sandbox runs on. */
  detach(): void;
}

/** Starts a control plane. Removes before what an earlier one of the same name has left. */
export async function startSandbox(options: SandboxOptions, say: Say): Promise<Sandbox> {
  const { env, name, signal, showStatus } = options;
  const dir = sandboxFolder(env, name);
  const components = options.apiOnly ? API_COMPONENTS : [...API_COMPONENTS, ...NODE_COMPONENTS];
  makeFolder(sandboxesFolder(env), UNWRITABLE);
  const binaries = await findBinaries(components, { ...options.binaries, env, signal, showStatus }, say);
  showStatus?.('starting the control plane');
  await removeStaleSandboxes(env, say, signal);
  const start = async (): Promise<Sandbox> => {
    const before = readStateFile(dir);
    if (before && inspectSandbox(env, name)?.state === 'up') {
      if (options.keep) writeStateFile(dir, { ...before, keep: true });
      throw new AlreadyUp(name, before.owner?.pid);
    }
    const keep = before?.keep ?? false;
    const remove = (keepLogs: boolean) => removeSandbox(dir, keep, keepLogs);
    await remove(false);
    const removeHook = onExit(() => removeOwnSandboxSync(dir, keep));
    const attempt = () => startOnce(dir, options, binaries, say);
    const sandbox = await startWithFreePorts(attempt, remove, { say, signal });
    if (!options.owned) removeHook();
    return sandbox;
  };
  try {
    return await withLock(`${dir}.lock`, { onWait: sayWaiting(name, say), signal }, start);
  } catch (error) {
    throw explainFullDisk(error, dir);
  }
}

/** Another program may take a port between its choice and its use: then the start is repeated with other ports. */
async function startWithFreePorts(
  attempt: () => Promise<Sandbox>,
  remove: (keepLogs: boolean) => Promise<void>,
  { say, signal }: { readonly say: Say; readonly signal: AbortSignal | undefined },
): Promise<Sandbox> {
  for (let left = 3; ; left--) {
    try {
      return await attempt();
    } catch (error) {
      const again = left > 1 && error instanceof ComponentEnded && error.portTaken;
      // The error of a failed start names a log, so the logs stay; after a cancelled start nobody reads them.
      await remove(!again && !signal?.aborted);
      if (!again) throw error;
      say('a port was taken meanwhile; starting again with others');
    }
  }
}

/** Ends a sandbox that another process started; false when there is none of that name. */
export async function stopSandbox(env: Environment, name: string, keep: boolean, say: Say): Promise<boolean> {
  const dir = sandboxFolder(env, name);
  makeFolder(sandboxesFolder(env), UNWRITABLE);
  return await withLock(`${dir}.lock`, { onWait: sayWaiting(name, say) }, async () => {
    const state = readStateFile(dir);
    await removeSandbox(dir, keep || (state?.keep ?? false));
    return state !== undefined;
  });
}

async function startOnce(
  dir: string,
  options: SandboxOptions,
  binaries: ControlPlaneSettings['binaries'],
  say: Say,
): Promise<Sandbox> {
  const files = sandboxFiles(dir);
  const ports = await freePorts();
  const { name, audit, etcdQuotaBytes } = options;
  const server = `https://127.0.0.1:${ports.api}`;
  // While it starts it belongs to this process in any case: if this process dies, it is to be removed.
  const state: StateFile = { name, server, owner: ownIdentity(), keep: options.keep ?? false, ready: false };
  writeStateFile(dir, state);
  // etcd's sockets in it are open to whoever can enter; one that is kept may be of another making.
  chmodSync(dir, 0o700);
  const tokens = writeUsers(dir);
  if (audit) writeAuditPolicy(dir);
  writeFileSync(files.stages, stages(options.processImages ?? ['attune', REDIS_IMAGE]));
  mkdirSync(files.certificates, { recursive: true });

  const components = new Components({ dir, ports, binaries, audit, etcdQuotaBytes }, options.env, say);
  await components.duringStartUp(options.signal, async (signal) => {
    // One that a killed etcd has left would look like that of the new one.
    for (const socket of files.etcdSockets) rmSync(socket, { force: true });
    components.start('etcd');
    await waitForEtcd(files.etcdSockets, signal);
    components.start('kube-apiserver');
    const authority = await waitForAuthority(files.authority, signal);
    const access: ApiAccess = { server, authority, token: tokens.admin };
    writeKubeconfig(files.kubeconfig, `attune-${name}`, access);
    await waitForApiServer(access, signal);
    if (options.apiOnly) return;
    for (const component of NODE_COMPONENTS) {
      const token = tokens[component as 'kwok'];
      writeKubeconfig(files.componentKubeconfig(component), component, { ...access, token });
      components.start(component);
    }
    await Promise.all([
      waitForControllerManager(access, signal),
      waitForListener('kube-controller-manager', ports.controllerManager, signal),
      waitForListener('kube-scheduler', ports.scheduler, signal),
      createNodes(access, options.nodes ?? 1, signal),
    ]);
  });
  writeStateFile(dir, { ...state, owner: options.owned ? state.owner : undefined, ready: true });

  return {
    name,
    dir,
    kubeconfig: files.kubeconfig,
    server,
    adminToken: tokens.admin,
    caFile: files.authority,
    auditLog: files.auditLog,
    async stop(stopping = {}) {
      components.expectEnd();
      await stopSandbox(options.env, name, stopping.keep ?? false, say);
    },
    kill: (component) => components.kill(component),
    revive: async (component) => components.start(component),
    detach: () => components.detach(),
  };
}

/** A sandbox of this name runs. Of the options of the new one, only `keep` has been applied to it. */
export class AlreadyUp extends Error {
  constructor(name: string, owner: number | undefined) {
    super(`the sandbox ${name} is up already${owner === undefined ? '' : ` and belongs to process ${owner}`}`);
  }
}

function sayWaiting(name: string, say: Say): (pid: number) => void {
  return (pid) => say(`process ${pid} is busy with the sandbox ${name}; waiting`);
}
