import { mkdir, readdir, readlink, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** A folder whose files are put in place all at once, as the kubelet does it with the volume of a Secret. */
export class KubeletVolume {
  readonly root: string;
  #swaps = 0;

  constructor(root: string) {
    this.root = root;
  }

  /** Puts these files into the place of all that were there: by path, like `redis-auth/password`. */
  async swap(files: Readonly<Record<string, string | Buffer>>): Promise<void> {
    this.#swaps += 1;
    const folder = `..2024_05_01_10_00_00.${this.#swaps}`;
    await mkdir(join(this.root, folder), { recursive: true });
    for (const [path, content] of Object.entries(files)) {
      await mkdir(dirname(join(this.root, folder, path)), { recursive: true });
      await writeFile(join(this.root, folder, path), content);
    }
    const before = await readlink(join(this.root, '..data')).catch(() => undefined);
    await symlink(folder, join(this.root, '..data_tmp'));
    await rename(join(this.root, '..data_tmp'), join(this.root, '..data'));
    await this.#linkNames(new Set(Object.keys(files).map((path) => path.split('/')[0] ?? '')));
    if (before !== undefined) await rm(join(this.root, before), { recursive: true });
  }

  /** What people see: `redis-auth`, which leads to `..data/redis-auth`. */
  async #linkNames(names: ReadonlySet<string>): Promise<void> {
    const present = (await readdir(this.root)).filter((name) => !name.startsWith('..'));
    for (const name of present) if (!names.has(name)) await rm(join(this.root, name));
    for (const name of names) if (!present.includes(name)) await symlink(`..data/${name}`, join(this.root, name));
  }
}
