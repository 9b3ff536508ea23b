import { mkdirSync, readlinkSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { now } from '../api.ts';

/** Contents by path within the folder, like `auth/password`. */
export type Files = Readonly<Record<string, string>>;

/** A folder of files as the kubelet mounts it: `..data` leads to all of them, and is replaced in one step. */
export class MountedFolder {
  readonly root: string;
  #swaps = 0;

  constructor(root: string, files: Files) {
    this.root = root;
    mkdirSync(root, { recursive: true });
    this.stage(files)();
    for (const top of new Set(Object.keys(files).map((path) => path.split('/')[0] ?? ''))) {
      symlinkSync(join('..data', top), join(root, top));
    }
  }

  /** Writes the files; the function that is returned puts them in place, and says when. */
  stage(files: Files): () => number {
    this.#swaps += 1;
    const name = `..swap-${this.#swaps}`;
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(this.root, name, path)), { recursive: true });
      writeFileSync(join(this.root, name, path), content);
    }
    const link = join(this.root, '..data');
    symlinkSync(name, `${link}_tmp`);
    return () => {
      const before = this.#swaps > 1 ? readlinkSync(link) : undefined;
      renameSync(`${link}_tmp`, link);
      const at = now();
      if (before !== undefined) rmSync(join(this.root, before), { recursive: true });
      return at;
    };
  }
}
