import { mkdirSync, readdirSync, readlinkSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ifPresent } from '../folders.ts';
import type { KeyFile, ObjectFiles, PodVolume } from './pod.ts';
import { ContainerConfigError } from './pod-environment.ts';

/** Reads the data of a ConfigMap or Secret; undefined if there is no such object. */
export type ReadBytes = (kind: 'ConfigMap' | 'Secret', name: string) => Promise<Record<string, Buffer> | undefined>;

/** By path within the volume. */
export type Files = ReadonlyMap<string, { readonly bytes: Buffer; readonly mode: number }>;

const DATA = '..data';

/** The files of a volume made of objects; throws ContainerConfigError while something named in it is missing. */
export async function filesOf(volume: PodVolume, read: ReadBytes): Promise<Files> {
  const { defaultMode = 0o644 } = volume.secret ?? volume.configMap ?? volume.projected ?? {};
  const files = new Map<string, { readonly bytes: Buffer; readonly mode: number }>();
  for (const [kind, source] of sourcesOf(volume)) {
    const data = await read(kind, source.name);
    if (!data && !source.optional) throw new ContainerConfigError(`${kind.toLowerCase()} "${source.name}" not found`);
    for (const { key, path, mode = defaultMode } of source.items ?? allKeys(data)) {
      const bytes = data?.[key];
      if (bytes) files.set(path, { bytes, mode });
      else if (!source.optional) throw new ContainerConfigError(`references non-existent secret key: ${key}`);
    }
  }
  return files;
}

function sourcesOf({ secret, configMap, projected }: PodVolume): readonly ['Secret' | 'ConfigMap', ObjectFiles][] {
  if (secret) return [['Secret', { ...secret, name: secret.secretName }]];
  if (configMap) return [['ConfigMap', configMap]];
  return (projected?.sources ?? []).flatMap(
    ({ secret: one, configMap: other }): ['Secret' | 'ConfigMap', ObjectFiles][] => {
      if (one) return [['Secret', one]];
      return other ? [['ConfigMap', other]] : [];
    },
  );
}

const allKeys = (data: Record<string, Buffer> | undefined): readonly KeyFile[] =>
  Object.keys(data ?? {}).map((key) => ({ key, path: key }));

/** Whether two volumes hold the same. */
export const isSame = (a: Files, b: Files): boolean =>
  a.size === b.size &&
  [...a].every(([path, { bytes, mode }]) => b.get(path)?.bytes.equals(bytes) === true && b.get(path)?.mode === mode);

/**
 * Puts the files into a folder as the kubelet does: into a new folder beside the old one, then a symbolic link is swapped,
 * so that a reader never finds some files of the old state and some of the new.
 */
export function mountFiles(root: string, files: Files): void {
  mkdirSync(root, { recursive: true });
  const before = ifPresent(() => readlinkSync(join(root, DATA)));
  const next = `..${new Date().toISOString().replace(/\D/g, '_')}${process.hrtime.bigint()}`;
  mkdirSync(join(root, next));
  for (const [path, { bytes, mode }] of files) {
    mkdirSync(dirname(join(root, next, path)), { recursive: true });
    writeFileSync(join(root, next, path), bytes, { mode });
  }
  symlinkSync(next, join(root, `${DATA}_tmp`));
  renameSync(join(root, `${DATA}_tmp`), join(root, DATA));
  linkNames(root, new Set(Array.from(files.keys(), (path) => path.split('/')[0] ?? '')));
  if (before !== undefined) rmSync(join(root, before), { recursive: true, force: true });
}

/** What a reader sees at the top leads through the link that is swapped. */
function linkNames(root: string, names: ReadonlySet<string>): void {
  const there = readdirSync(root).filter((name) => !name.startsWith('..'));
  for (const name of names) if (!there.includes(name)) symlinkSync(join(DATA, name), join(root, name));
  for (const name of there) if (!names.has(name)) rmSync(join(root, name), { force: true });
}
