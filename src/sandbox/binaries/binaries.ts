import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { binariesFolder, type Environment, explainFullDisk, makeFolder } from '../folders.ts';
import { withLock } from '../lock.ts';
import type { Progress, Say, ShowStatus } from '../progress.ts';
import { installRelease, reasonOf } from './download.ts';
import { goBuild } from './go-build.ts';
import {
  type BinaryName,
  PROJECTS,
  type ProjectName,
  projectOf,
  RELEASE_SITES,
  type ReleaseSites,
  thisPlatform,
} from './projects.ts';
import { RELEASE_SUMS, type ReleaseSums, releaseRow } from './release-sums.ts';

export interface BinaryOptions {
  readonly env: Environment;
  /** A folder to look into before all other places; KUBEBUILDER_ASSETS if not given. */
  readonly folder?: string | undefined;
  readonly sites?: ReleaseSites;
  readonly sums?: ReleaseSums;
  /** The folder of the pinned Go modules. */
  readonly modules?: string;
  readonly showStatus?: ShowStatus | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Finds each program, in this order: in the user's folder, in the cache, by download of the official release if its
 * checksum is known, by `go build`. What fails says why in one line, and the next is tried; download and build put the program into the cache.
 */
export async function findBinaries<Name extends BinaryName>(
  names: readonly Name[],
  options: BinaryOptions,
  say: Say,
): Promise<Readonly<Record<Name, string>>> {
  const found = new Map<BinaryName, string>();
  const missing = new Map<ProjectName, BinaryName[]>();
  for (const name of names) {
    const path = inFolder(name, options, say) ?? inCache(name, options.env);
    if (path) found.set(name, path);
    else missing.set(projectOf(name), [...(missing.get(projectOf(name)) ?? []), name]);
  }
  if (missing.size > 0) {
    const unknown = [...missing.values()].flat().some((name) => !sumOf(name, options));
    say(firstRunNotice([...missing.keys()], unknown ? 'built' : 'downloaded', binariesFolder(options.env)));
  }
  for (const [index, [project, binaries]] of [...missing].entries()) {
    const title = titleOf(project);
    await obtain(project, binaries, options, {
      say: (line) => say(`${title}: ${line}`),
      showStatus: (status) => options.showStatus?.(`${title} (${index + 1} of ${missing.size}): ${status}`),
    });
    for (const binary of binaries) found.set(binary, cachePath(binary, options.env));
  }
  return Object.fromEntries(found) as Record<Name, string>;
}

const titleOf = (project: ProjectName): string => `${project} ${PROJECTS[project].version}`;

/** What is downloaded or built now, and how long that may take. */
export function firstRunNotice(projects: readonly ProjectName[], way: 'built' | 'downloaded', folder: string): string {
  const minutes = (end: 'least' | 'most') =>
    projects.reduce((sum, project) => sum + PROJECTS[project].buildMinutes[end], 0);
  const releases = way === 'built' ? '' : 'Releases take a minute or two; if they cannot be downloaded, ';
  return [
    `the first time, ${projects.map(titleOf).join(', ')} must be fetched.`,
    `${releases}Go builds the programs from their sources, in about ${minutes('least')} to ${minutes('most')} minutes on two cores.`,
    `Afterwards they are in ${folder}`,
  ].join(' ');
}

function inFolder(name: BinaryName, options: BinaryOptions, say: Say): string | undefined {
  const folder = options.folder ?? options.env['KUBEBUILDER_ASSETS'];
  // KUBEBUILDER_ASSETS comes from envtest, which does not contain Helm.
  if (!folder || name === 'helm') return undefined;
  const path = join(folder, name);
  if (isExecutable(path)) return path;
  say(`${name}: not in ${folder}`);
  return undefined;
}

function inCache(name: BinaryName, env: Environment): string | undefined {
  const path = cachePath(name, env);
  return isExecutable(path) ? path : undefined;
}

function cacheFolder(project: ProjectName, env: Environment): string {
  const { os, arch } = thisPlatform();
  return join(binariesFolder(env), `${project}-${PROJECTS[project].version}-${os}-${arch}`);
}

const cachePath = (name: BinaryName, env: Environment): string => join(cacheFolder(projectOf(name), env), name);

async function obtain(
  project: ProjectName,
  binaries: readonly BinaryName[],
  options: BinaryOptions,
  progress: Progress,
): Promise<void> {
  const { env } = options;
  const { say } = progress;
  const folder = cacheFolder(project, env);
  const onWait = (pid: number) => {
    say(`process ${pid} is getting it; waiting`);
    progress.showStatus(`waiting for process ${pid}, which is getting it`);
  };
  makeFolder(
    binariesFolder(env),
    'set XDG_CACHE_HOME, or name a folder with the programs: --binaries, KUBEBUILDER_ASSETS',
  );
  await withLock(`${folder}.lock`, { onWait, signal: options.signal }, async () => {
    const stillMissing = () => binaries.filter((name) => !inCache(name, env));
    const problems: string[] = [];
    const methods = [
      { name: 'release', work: () => fromRelease(project, stillMissing(), options, progress) },
      { name: 'go build', work: () => fromSource(project, options, progress) },
    ];
    for (const method of methods) {
      if (stillMissing().length === 0) return;
      try {
        await method.work();
      } catch (error) {
        options.signal?.throwIfAborted();
        const problem = `${method.name}: ${reasonOf(explainFullDisk(error, folder))}`;
        problems.push(problem);
        say(problem);
      }
    }
    if (stillMissing().length === 0) return;
    const lines = [
      `${titleOf(project)} could not be obtained`,
      ...problems.map((problem) => `  ${problem}`),
      '  cure: install Go 1.26 or newer, or name a folder that contains the programs in KUBEBUILDER_ASSETS; releases are',
      '  downloaded only if their checksum is in src/sandbox/binaries/release-sums.ts',
    ];
    throw new Error(lines.join('\n'));
  });
}

async function fromRelease(
  project: ProjectName,
  binaries: readonly BinaryName[],
  options: BinaryOptions,
  progress: Progress,
): Promise<void> {
  const platform = thisPlatform();
  for (const binary of binaries) {
    const release = PROJECTS[project].release(options.sites ?? RELEASE_SITES, binary, platform);
    if (!release) throw new Error(`${binary} is not published for ${platform.os}`);
    const sum = sumOf(binary, options);
    if (!sum) throw new Error(`not downloaded, no checksum is known of ${releaseRow(binary, platform)}`);
    progress.say(`loading ${release.url}`);
    await installRelease({ ...release, sum }, cachePath(binary, options.env), progress, options.signal);
  }
}

const sumOf = (binary: BinaryName, { sums = RELEASE_SUMS }: BinaryOptions): string | undefined =>
  sums[releaseRow(binary, thisPlatform())];

/** Builds all programs of the project at once: they share most of their sources, so each further one costs little. */
async function fromSource(project: ProjectName, options: BinaryOptions, progress: Progress): Promise<void> {
  const modules = options.modules ?? fileURLToPath(new URL('../../../go', import.meta.url));
  const all = Object.keys(PROJECTS[project].packages) as BinaryName[];
  const missing = all.filter((name) => !inCache(name, options.env));
  const { least, most } = PROJECTS[project].buildMinutes;
  progress.say(`building ${missing.join(', ')} with Go, about ${least} to ${most} minutes`);
  await goBuild(project, missing, cacheFolder(project, options.env), { ...options, ...progress, modules });
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
