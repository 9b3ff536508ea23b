import { existsSync, rmSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Environment } from '../folders.ts';
import { atExit } from '../processes/at-exit.ts';
import { leashed, NOT_FOUND } from '../processes/leash.ts';
import { buildState, loadState } from './go-state.ts';
import { type BinaryName, COMPONENTS, type ComponentName } from './pins.ts';
import type { Activity } from './release.ts';

/** Builds programs of one component into `folder`, from the module that pins them and the sums of all their sources. */
export async function goBuild(
  component: ComponentName,
  binaries: readonly BinaryName[],
  folder: string,
  options: {
    readonly modules: string;
    readonly env: Environment;
    readonly activity: Activity;
    readonly signal?: AbortSignal | undefined;
  },
): Promise<void> {
  const module = join(options.modules, component);
  if (!existsSync(join(module, 'go.mod'))) throw new Error('the pinned Go modules are part of the repository only');
  await inScratch(join(folder, '.build'), async (scratch, temporary) => {
    // What Go puts aside while it works goes with the scratch folder, also when it is killed.
    const env = { ...options.env, CGO_ENABLED: '0', GOWORK: 'off', GOTMPDIR: temporary };
    const go: Go = { cwd: module, env, signal: options.signal };
    const { packages, linkerFlags } = COMPONENTS[component];
    const wanted = binaries.map((binary) => packages[binary] ?? binary);
    const loading = loadState(options.activity);
    await run(go, ['list', '-deps', ...wanted], loading.line);
    const building = buildState(wanted, loading.packages(), options.activity);
    // With a single package the output is named, as its import path may end in a version; with several, the folder is.
    const output = binaries.length === 1 ? join(scratch, binaries[0] ?? '') : scratch;
    await run(go, ['build', '-v', '-trimpath', '-ldflags', linkerFlags, '-o', output, ...wanted], building.line);
    for (const binary of binaries) await rename(join(scratch, binary), join(folder, binary));
  });
}

/** A folder that is there for the work alone, with one for temporary files in it; whatever happens, it does not stay. */
async function inScratch(scratch: string, work: (scratch: string, temporary: string) => Promise<void>): Promise<void> {
  const temporary = join(scratch, '.tmp');
  await rm(scratch, { recursive: true, force: true });
  await mkdir(temporary, { recursive: true });
  // The programs were killed just before and may still be at their last file.
  const remove = { recursive: true, force: true, maxRetries: 10, retryDelay: 50 };
  const callOff = atExit(() => rmSync(scratch, remove));
  try {
    await work(scratch, temporary);
  } finally {
    await rm(scratch, remove);
    callOff();
  }
}

interface Go {
  readonly cwd: string;
  readonly env: Environment;
  readonly signal: AbortSignal | undefined;
}

/** Runs the go command, with each line of its output going to `line`. */
async function run(go: Go, args: readonly string[], line: (text: string) => void): Promise<void> {
  const { outputs, ended } = leashed(['go', ...args], go);
  const lines: string[] = [];
  const keep = (text: string) => {
    lines.push(text);
    if (lines.length > 5) lines.shift();
    line(text);
  };
  for (const input of outputs) createInterface({ input }).on('line', keep);
  const code = await ended;
  go.signal?.throwIfAborted();
  if (code === NOT_FOUND) throw new Error('Go is not installed (https://go.dev/dl)');
  if (code !== 0) throw new Error(`go ${args[0]} ended with ${code}: ${lines.join(' | ')}`);
}
