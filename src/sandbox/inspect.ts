import { layout } from './control-plane/control-plane.ts';
import { type Environment, sandboxFolder } from './folders.ts';
import { isAlive } from './processes/process-identity.ts';
import { lastLines, logFile, recorded } from './processes/recorded-process.ts';
import { isAbandoned, readRecord, sandboxNames } from './sandbox-record.ts';

/** A process of a sandbox, as seen from outside. */
interface ProcessReport {
  readonly name: string;
  readonly pid: number;
  readonly alive: boolean;
  readonly log: string;
  /** The end of its log, for one that has died. */
  readonly lastLines: readonly string[];
}

export interface SandboxReport {
  readonly name: string;
  /** up: all that was started lives. broken: a part of it has died. starting: another process is busy with it. */
  readonly state: 'up' | 'broken' | 'starting' | 'kept';
  readonly server: string | undefined;
  readonly dir: string;
  readonly kubeconfig: string;
  readonly processes: readonly ProcessReport[];
}

/** What is known of a sandbox from its folder; undefined when there is none. */
export function inspectSandbox(env: Environment, name: string): SandboxReport | undefined {
  const dir = sandboxFolder(env, name);
  const record = readRecord(dir);
  if (!record) return undefined;
  // The processes of pods come and go; whether they should is the runner's business.
  const parts = [...recorded(dir)].filter(([process]) => !process.startsWith('pod.'));
  const processes = parts.map(([process, identity]): ProcessReport => {
    const alive = isAlive(identity);
    const log = logFile(dir, process);
    return { name: process, pid: identity.pid, alive, log, lastLines: alive ? [] : lastLines(dir, process) };
  });
  const broken = isAbandoned(record) || processes.some(({ alive }) => !alive);
  const state = processes.length === 0 && record.keep ? 'kept' : broken ? 'broken' : record.ready ? 'up' : 'starting';
  return { name, state, server: record.server, dir, kubeconfig: layout(dir).kubeconfig, processes };
}

/** All sandboxes of this user. */
export function inspectSandboxes(env: Environment): readonly SandboxReport[] {
  return sandboxNames(env).flatMap((name) => inspectSandbox(env, name) ?? []);
}
