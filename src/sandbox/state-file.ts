import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isAlive, type ProcessIdentity } from '../runtime/process-identity.ts';
import { type Environment, ifPresent, sandboxesFolder } from './folders.ts';

/** What a sandbox's folder says about it, for programs that did not start it. */
export interface StateFile {
  readonly name: string;
  /** Undefined while the sandbox is down. */
  readonly server: string | undefined;
  /** The sandbox ends with this process; undefined for a sandbox that runs until somebody ends it. */
  readonly owner: ProcessIdentity | undefined;
  /** Whether the data outlives the sandbox. */
  readonly keep: boolean;
  readonly ready: boolean;
}

const stateFile = (dir: string): string => join(dir, 'sandbox.json');

export function writeStateFile(dir: string, state: StateFile): void {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const temporary = `${stateFile(dir)}.new`;
  writeFileSync(temporary, JSON.stringify(state));
  renameSync(temporary, stateFile(dir));
}

export function readStateFile(dir: string): StateFile | undefined {
  const text = ifPresent(() => readFileSync(stateFile(dir), 'utf8'));
  return text === undefined ? undefined : JSON.parse(text);
}

/** The names of all sandboxes of this user, running or not. */
export function sandboxNames(env: Environment): readonly string[] {
  const entries = ifPresent(() => readdirSync(sandboxesFolder(env), { withFileTypes: true })) ?? [];
  return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
}

/** Whether the process that the sandbox belongs to has died without ending it. */
export function hasDeadOwner(state: StateFile | undefined): boolean {
  return state?.owner !== undefined && !isAlive(state.owner);
}
