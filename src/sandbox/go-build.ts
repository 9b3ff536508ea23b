import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Environment } from './folders.ts';
import { type BinaryName, COMPONENTS, type ComponentName } from './pins.ts';
import type { Progress } from './release.ts';

/** Builds programs of one component into `folder`, from the module that pins them and the sums of all their sources. */
export async function goBuild(
  component: ComponentName,
  binaries: readonly BinaryName[],
  folder: string,
  options: {
    readonly modules: string;
    readonly env: Environment;
    readonly progress: Progress;
    readonly signal?: AbortSignal | undefined;
  },
): Promise<void> {
  const module = join(options.modules, component);
  if (!existsSync(join(module, 'go.mod'))) throw new Error('the pinned Go modules are part of the repository only');
  const { packages, linkerFlags } = COMPONENTS[component];
  const scratch = join(folder, '.build');
  await rm(scratch, { recursive: true, force: true });
  await mkdir(scratch, { recursive: true });

  const env = { ...options.env, CGO_ENABLED: '0', GOWORK: 'off' };
  const go: Go = { cwd: module, env, signal: options.signal };
  const wanted = binaries.map((binary) => packages[binary] ?? binary);
  options.progress('loading sources');
  let total = 0;
  await run(go, ['list', '-deps', ...wanted], () => total++);

  const report = reporter(total, options.progress);
  // With a single package the output is named, as its import path may end in a version; with several, the folder is.
  const output = binaries.length === 1 ? join(scratch, binaries[0] ?? '') : scratch;
  await run(go, ['build', '-v', '-trimpath', '-ldflags', linkerFlags, '-o', output, ...wanted], report);
  for (const binary of binaries) await rename(join(scratch, binary), join(folder, binary));
  await rm(scratch, { recursive: true });
}

interface Go {
  readonly cwd: string;
  readonly env: Environment;
  readonly signal: AbortSignal | undefined;
}

/** Runs the go command, with each line of its output going to `line`. */
async function run(go: Go, args: readonly string[], line: () => void): Promise<void> {
  const child = spawn('go', args, { ...go, stdio: ['ignore', 'pipe', 'pipe'] });
  const lines: string[] = [];
  const keep = (text: string) => {
    lines.push(text);
    if (lines.length > 5) lines.shift();
    line();
  };
  createInterface({ input: child.stdout }).on('line', keep);
  createInterface({ input: child.stderr }).on('line', keep);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', (error: NodeJS.ErrnoException) =>
      reject(error.code === 'ENOENT' ? new Error('Go is not installed (https://go.dev/dl)', { cause: error }) : error),
    );
    child.once('close', resolve);
  });
  if (code !== 0) throw new Error(`go ${args[0]} ended with ${code}: ${lines.join(' | ')}`);
}

/** `go build -v` names each package that it had to compile; those found in its cache are not named. */
function reporter(total: number, progress: Progress): () => void {
  const started = performance.now();
  let told = started;
  let done = 0;
  return () => {
    done++;
    const now = performance.now();
    if (now - told < 10_000) return;
    told = now;
    progress(`compiled ${done} of at most ${total} packages, ${Math.round((now - started) / 1000)} s`);
  };
}
