import { existsSync, rmSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type DependentOptions, NOT_FOUND, spawnDependent } from '../processes/dependent-process.ts';
import { onExit } from '../processes/exit-hooks.ts';
import type { ShowStatus } from '../progress.ts';
import { buildOutput, listOutput } from './go-output.ts';
import { type BinaryName, PROJECTS, type ProjectName } from './projects.ts';

/** Builds programs of one project into `folder`. Its Go module pins the version and the checksums of all sources. */
export async function goBuild(
  project: ProjectName,
  binaries: readonly BinaryName[],
  folder: string,
  options: Omit<DependentOptions, 'cwd'> & { readonly modules: string; readonly showStatus: ShowStatus },
): Promise<void> {
  const module = join(options.modules, project);
  if (!existsSync(join(module, 'go.mod'))) throw new Error('the pinned Go modules are part of the repository only');
  await inScratch(join(folder, '.build'), async (scratch, temporary) => {
    // Go's temporary files are removed with the scratch folder, also when Go is killed.
    const env = { ...options.env, CGO_ENABLED: '0', GOWORK: 'off', GOTMPDIR: temporary };
    const go = { cwd: module, env, signal: options.signal };
    const { packages, linkerFlags } = PROJECTS[project];
    const programs = binaries.map((binary) => packages[binary] ?? binary);
    const list = listOutput(options.showStatus);
    await run(go, ['list', '-deps', ...programs], list.line);
    const build = buildOutput(programs, list.packages(), options.showStatus);
    // Go names a program after the last part of its package's path, which may be a version: so a single one is named here.
    const output = binaries.length === 1 ? join(scratch, binaries[0] ?? '') : scratch;
    await run(go, ['build', '-v', '-trimpath', '-ldflags', linkerFlags, '-o', output, ...programs], build.line);
    for (const binary of binaries) await rename(join(scratch, binary), join(folder, binary));
  });
}

/** Runs `work` with an empty folder and a folder for temporary files inside; afterwards both are removed. */
async function inScratch(scratch: string, work: (scratch: string, temporary: string) => Promise<void>): Promise<void> {
  const temporary = join(scratch, '.tmp');
  await rm(scratch, { recursive: true, force: true });
  await mkdir(temporary, { recursive: true });
  // Programs that were killed just before may still be writing.
  const remove = { recursive: true, force: true, maxRetries: 10, retryDelay: 50 };
  const removeHook = onExit(() => rmSync(scratch, remove));
  try {
    await work(scratch, temporary);
  } finally {
    await rm(scratch, remove);
    removeHook();
  }
}

/** Runs the go command and calls `line` with each line of its output. */
async function run(go: DependentOptions, args: readonly string[], line: (text: string) => void): Promise<void> {
  const { outputs, ended } = spawnDependent(['go', ...args], go);
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
