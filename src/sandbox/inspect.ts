import { isAlive } from '../runtime/process-identity.ts';
import { sandboxFiles } from './control-plane/control-plane.ts';
import { type Environment, sandboxFolder } from './folders.ts';
import { daemonsIn } from './processes/daemon.ts';
import { lastLines, logFile } from './processes/process-logs.ts';
import { hasDeadOwner, readStateFile, sandboxNames } from './state-file.ts';

export interface SandboxReport {
  readonly name: string;
  /** up: all its processes live. broken: one has died. starting: another process starts it. kept: only data is left. */
  readonly state: 'up' | 'broken' | 'starting' | 'kept';
  readonly server: string | undefined;
  readonly dir: string;
  readonly kubeconfig: string;
  readonly processes: readonly {
    readonly name: string;
    readonly pid: number;
    readonly alive: boolean;
    readonly log: string;
    /** The end of its log, if it has died. */
    readonly lastLines: readonly string[];
  }[];
}

/** What a sandbox's folder says about it; undefined if there is no such sandbox. */
export function inspectSandbox(env: Environment, name: string): SandboxReport | undefined {
  const dir = sandboxFolder(env, name);
  const stateFile = readStateFile(dir);
  if (!stateFile) return undefined;
  // The processes of pods are left out: their end is no failure of the sandbox.
  const daemons = [...daemonsIn(dir)].filter(([daemon]) => !daemon.startsWith('pod.'));
  const processes = daemons.map(([daemon, identity]) => {
    const alive = isAlive(identity);
    const log = logFile(dir, daemon);
    return { name: daemon, pid: identity.pid, alive, log, lastLines: alive ? [] : lastLines(dir, daemon) };
  });
  const broken = hasDeadOwner(stateFile) || processes.some(({ alive }) => !alive);
  const { keep, ready, server } = stateFile;
  const state = processes.length === 0 && keep ? 'kept' : broken ? 'broken' : ready ? 'up' : 'starting';
  return { name, state, server, dir, kubeconfig: sandboxFiles(dir).kubeconfig, processes };
}

/** All sandboxes of this user. */
export function inspectSandboxes(env: Environment): readonly SandboxReport[] {
  return sandboxNames(env).flatMap((name) => inspectSandbox(env, name) ?? []);
}
