import { createHash } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { killProcessesIn } from '../processes/processes-in.ts';
import { type Files, filesOf, isSame, mountFiles, type ReadBytes } from './mounted-files.ts';
import type { Pod, PodContainer, PodVolume } from './pod.ts';
import { ContainerConfigError } from './pod-environment.ts';

/** The kubelet looks once a minute or so; nobody at a sandbox wants to wait for that. */
const LOOK_MS = 1000;

/** A process has no mounts of its own: each volume is a folder, and what names a mount is made to name the folder. */
export class PodVolumes {
  readonly #dir: string;
  readonly #pod: Pod;
  readonly #read: ReadBytes;
  readonly #expected: (container: PodContainer) => readonly string[];
  readonly #mounted = new Map<string, Files>();

  /** `expected` are paths at which a container's image has a folder, mounted or not. */
  constructor(dir: string, pod: Pod, read: ReadBytes, expected: (container: PodContainer) => readonly string[]) {
    this.#dir = dir;
    this.#pod = pod;
    this.#read = read;
    this.#expected = expected;
  }

  /** Returns when all volumes are there, or when aborted; a Secret that does not exist is waited for. */
  async prepare(signal: AbortSignal, waiting: (why: string) => void): Promise<void> {
    for (const folder of this.#all()) mkdirSync(folder, { recursive: true, mode: 0o700 });
    while (!signal.aborted) {
      const why = await this.#bringUpToDate();
      if (why === undefined) return;
      waiting(why);
      await delay(LOOK_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Until aborted: what changes in an object changes in its files. What is deleted stays as it was. */
  async follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && this.#mounted.size > 0) {
      await delay(LOOK_MS, undefined, { signal }).catch(() => undefined);
      // A server that is away, or an object that is gone: the next look is soon.
      if (!signal.aborted) await this.#bringUpToDate().catch(() => undefined);
    }
  }

  /** The folder for each path at which the container has a volume, or expects one. */
  folders(container: PodContainer): ReadonlyMap<string, string> {
    const volumes = new Map(this.#volumes().map((volume) => [volume.name, volume]));
    const expected = this.#expected(container).map((path) => [path, this.#ownFolder(container.name + path)] as const);
    const mounts = (container.volumeMounts ?? []).flatMap(({ name, mountPath }) => {
      const volume = volumes.get(name);
      return volume ? [[mountPath.replace(/(?<=.)\/+$/, ''), this.#folderOf(volume)] as const] : [];
    });
    return new Map([...expected, ...mounts]);
  }

  /** Removes what goes with the pod, and kills what still works there; a claim stays. */
  remove(): void {
    const claims = new Set(this.#volumes().flatMap((each) => (each.persistentVolumeClaim ? this.#folderOf(each) : [])));
    for (const folder of this.#all()) {
      killProcessesIn(folder);
      if (!claims.has(folder)) rmSync(folder, { recursive: true, force: true });
    }
  }

  #all(): ReadonlySet<string> {
    const mounted = this.#pod.spec.containers.flatMap((container) => [...this.folders(container).values()]);
    return new Set([...mounted, ...this.#volumes().map((volume) => this.#folderOf(volume))]);
  }

  /** Says what is missing. */
  async #bringUpToDate(): Promise<string | undefined> {
    try {
      for (const volume of this.#volumes().filter(isOfObjects)) {
        const files = await filesOf(volume, this.#read);
        const before = this.#mounted.get(volume.name);
        if (!before || !isSame(before, files)) mountFiles(this.#folderOf(volume), files);
        this.#mounted.set(volume.name, files);
      }
      return undefined;
    } catch (error) {
      if (error instanceof ContainerConfigError) return error.message;
      throw error;
    }
  }

  /** A token is not mounted: the container has a kubeconfig. */
  #volumes(): readonly PodVolume[] {
    return (this.#pod.spec.volumes ?? []).filter(
      (volume) => volume.emptyDir || volume.persistentVolumeClaim || isOfObjects(volume),
    );
  }

  #folderOf({ name, persistentVolumeClaim: claim }: PodVolume): string {
    return claim ? claimFolder(this.#dir, this.#pod.metadata.namespace, claim.claimName) : this.#ownFolder(name);
  }

  #ownFolder(name: string): string {
    return folderNamed(this.#dir, `${this.#pod.metadata.uid}/${name}`);
  }
}

function isOfObjects({ secret, configMap, projected }: PodVolume): boolean {
  const sources = projected?.sources ?? [];
  if (secret || configMap) return true;
  return sources.length > 0 && sources.every((each) => each.secret ?? each.configMap);
}

export const volumesFolder = (dir: string): string => join(dir, 'volumes');

export const claimFolder = (dir: string, namespace: string, claim: string): string =>
  folderNamed(dir, `claim/${namespace}/${claim}`);

/** Short, because a unix socket in it may have a path of 107 bytes. */
const folderNamed = (dir: string, name: string): string =>
  join(volumesFolder(dir), createHash('sha256').update(name).digest('hex').slice(0, 10));

/** The text with the folder wherever it names a path below a mount. */
export function relocated(text: string, folders: ReadonlyMap<string, string>): string {
  const longestFirst = [...folders].toSorted(([a], [b]) => b.length - a.length);
  for (const [path, folder] of longestFirst) {
    const pattern = new RegExp(`(^|[=:,])${path.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}(?=$|[/:,])`, 'g');
    const found = text.replace(pattern, (_, before: string) => `${before}${folder}`);
    if (found !== text) return found;
  }
  return text;
}
