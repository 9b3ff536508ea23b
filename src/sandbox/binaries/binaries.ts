import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { binariesFolder, type Environment, makeFolder, withPlace } from '../folders.ts';
import { locked } from '../lock.ts';
import { goBuild } from './go-build.ts';
import {
  type BinaryName,
  COMPONENTS,
  type ComponentName,
  componentOf,
  RELEASE_SITES,
  type ReleaseSites,
  thisPlatform,
} from './pins.ts';
import { type Activity, installRelease, type Progress, reasonOf, type Telling } from './release.ts';

export interface BinaryOptions {
  readonly env: Environment;
  /** A folder that is asked before every other place; without it KUBEBUILDER_ASSETS is. */
  readonly folder?: string | undefined;
  readonly sites?: ReleaseSites;
  /** The folder of the pinned Go modules. */
  readonly modules?: string;
  /** Told at every step what is done at this moment, for somebody who waits for minutes. */
  readonly activity?: Activity | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Finds each program, in this order: a folder named by the user, the cache, the official release, `go build`. A way
 * that fails says why in one line, and the next is tried; the last two leave the program in the cache.
 */
export async function findBinaries<Name extends BinaryName>(
  names: readonly Name[],
  options: BinaryOptions,
  progress: Progress,
): Promise<Readonly<Record<Name, string>>> {
  const found = new Map<BinaryName, string>();
  const missing = new Map<ComponentName, BinaryName[]>();
  for (const name of names) {
    const path = inFolder(name, options, progress) ?? inCache(name, options.env);
    if (path) found.set(name, path);
    else missing.set(componentOf(name), [...(missing.get(componentOf(name)) ?? []), name]);
  }
  if (missing.size > 0) progress(whatIsToCome([...missing.keys()], binariesFolder(options.env)));
  let at = 0;
  for (const [component, binaries] of missing) {
    at++;
    const title = titleOf(component);
    const activity = (state: string) => options.activity?.(`${title} (${at} of ${missing.size}): ${state}`);
    await obtain(component, binaries, options, { say: (line) => progress(`${title}: ${line}`), activity });
    for (const binary of binaries) found.set(binary, cachePath(binary, options.env));
  }
  return Object.fromEntries(found) as Record<Name, string>;
}

const titleOf = (component: ComponentName): string => `${component} ${COMPONENTS[component].version}`;

/** Said once, before minutes of work. */
export function whatIsToCome(components: readonly ComponentName[], folder: string): string {
  const minutes = (end: 'least' | 'most') =>
    components.reduce((sum, component) => sum + COMPONENTS[component].buildMinutes[end], 0);
  return [
    `the first time, ${components.map(titleOf).join(', ')} must be fetched.`,
    'Releases take a minute or two;',
    `where they cannot be reached Go builds the programs, in about ${minutes('least')} to ${minutes('most')} minutes on two cores.`,
    `Afterwards they are in ${folder}`,
  ].join(' ');
}

function inFolder(name: BinaryName, options: BinaryOptions, progress: Progress): string | undefined {
  const folder = options.folder ?? options.env['KUBEBUILDER_ASSETS'];
  // Helm is no part of envtest's assets: nobody expects it there.
  if (!folder || name === 'helm') return undefined;
  const path = join(folder, name);
  if (isExecutable(path)) return path;
  progress(`${name}: not in ${folder}`);
  return undefined;
}

function inCache(name: BinaryName, env: Environment): string | undefined {
  const path = cachePath(name, env);
  return isExecutable(path) ? path : undefined;
}

function cacheFolder(component: ComponentName, env: Environment): string {
  const { os, arch } = thisPlatform();
  return join(binariesFolder(env), `${component}-${COMPONENTS[component].version}-${os}-${arch}`);
}

function cachePath(name: BinaryName, env: Environment): string {
  return join(cacheFolder(componentOf(name), env), name);
}

async function obtain(
  component: ComponentName,
  binaries: readonly BinaryName[],
  options: BinaryOptions,
  telling: Telling,
): Promise<void> {
  const { env } = options;
  const { say } = telling;
  const folder = cacheFolder(component, env);
  const waiting = (pid: number) => {
    say(`process ${pid} is getting it; waiting`);
    telling.activity(`waiting for process ${pid}, which is getting it`);
  };
  makeFolder(
    binariesFolder(env),
    'set XDG_CACHE_HOME, or name a folder with the programs: --binaries, KUBEBUILDER_ASSETS',
  );
  await locked(`${folder}.lock`, { waiting, signal: options.signal }, async () => {
    const stillMissing = () => binaries.filter((name) => !inCache(name, env));
    const problems: string[] = [];
    const ways = [
      { name: 'release', work: () => fromRelease(component, stillMissing(), options, telling) },
      { name: 'go build', work: () => fromSource(component, options, telling) },
    ];
    for (const way of ways) {
      if (stillMissing().length === 0) return;
      try {
        await way.work();
      } catch (error) {
        options.signal?.throwIfAborted();
        const problem = `${way.name}: ${reasonOf(withPlace(error, folder))}`;
        problems.push(problem);
        say(problem);
      }
    }
    if (stillMissing().length > 0) throw new Error(noWayLeft(titleOf(component), problems));
  });
}

async function fromRelease(
  component: ComponentName,
  binaries: readonly BinaryName[],
  options: BinaryOptions,
  telling: Telling,
): Promise<void> {
  const platform = thisPlatform();
  for (const binary of binaries) {
    const release = COMPONENTS[component].release(options.sites ?? RELEASE_SITES, binary, platform);
    if (!release) throw new Error(`${binary} is not published for ${platform.os}`);
    telling.say(`loading ${release.url}`);
    await installRelease(release, cachePath(binary, options.env), telling, options.signal);
  }
}

/** All programs of the component at once: they share most of their sources, and one more costs little. */
async function fromSource(component: ComponentName, options: BinaryOptions, telling: Telling): Promise<void> {
  const modules = options.modules ?? fileURLToPath(new URL('../../../go', import.meta.url));
  const all = Object.keys(COMPONENTS[component].packages) as BinaryName[];
  const missing = all.filter((name) => !inCache(name, options.env));
  const { least, most } = COMPONENTS[component].buildMinutes;
  telling.say(`building ${missing.join(', ')} with Go, about ${least} to ${most} minutes`);
  await goBuild(component, missing, cacheFolder(component, options.env), {
    modules,
    env: options.env,
    activity: telling.activity,
    signal: options.signal,
  });
}

function noWayLeft(title: string, problems: readonly string[]): string {
  return [
    `${title} could not be obtained`,
    ...problems.map((problem) => `  ${problem}`),
    '  cure: connect this machine to the release sites, or install Go 1.26 or newer, or name a folder that contains',
    '  the programs in KUBEBUILDER_ASSETS',
  ].join('\n');
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
