import { createHash, createPrivateKey, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { certificatesIn } from './certificates.ts';

/** The three files of Redis's settings. */
export interface TlsPaths {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
}

/** Their content, PEM. */
export type VersionParts = TlsPaths;

export const pathsIn = (folder: string): TlsPaths => ({
  cert: join(folder, 'tls.crt'),
  key: join(folder, 'tls.key'),
  ca: join(folder, 'ca.crt'),
});

/**
 * Copies of certificates that Redis has been told, each in a folder that never changes: what an earlier mount held is still
 * there when it is needed, and no crash leaves a certificate beside another's key.
 */
export class Versions {
  readonly #root: string;

  constructor(stateDir: string) {
    this.#root = join(stateDir, 'tls');
  }

  paths(digest: string): TlsPaths {
    return pathsIn(join(this.#root, digest));
  }

  /** Which version these paths are of; undefined: of none. */
  digestAt(paths: TlsPaths): string | undefined {
    const digest = /[^/]+$/.exec(dirname(paths.cert))?.[0] ?? '';
    return /^[0-9a-f]{32}$/.test(digest) && samePaths(paths, this.paths(digest)) ? digest : undefined;
  }

  /** Returns the digest. What is there already stays as it is. */
  async write(parts: VersionParts): Promise<string> {
    const digest = digestOf(parts);
    if (await this.read(digest)) return digest;
    await mkdir(this.#root, { recursive: true, mode: 0o700 });
    const folder = join(this.#root, digest);
    const temporary = join(this.#root, `new-${randomBytes(4).toString('hex')}`);
    try {
      await mkdir(temporary, { mode: 0o700 });
      const paths = pathsIn(temporary);
      for (const part of ['cert', 'key', 'ca'] as const) await writeSynced(paths[part], parts[part]);
      await rm(folder, { recursive: true, force: true });
      await rename(temporary, folder);
    } finally {
      await rm(temporary, { recursive: true, force: true });
    }
    return digest;
  }

  /** Undefined unless it is whole and what it was when it was written. */
  async read(digest: string): Promise<VersionParts | undefined> {
    const paths = this.paths(digest);
    try {
      const [cert, key, ca] = await Promise.all(
        [paths.cert, paths.key, paths.ca].map((path) => readFile(path, 'utf8')),
      );
      const parts = { cert: cert ?? '', key: key ?? '', ca: ca ?? '' };
      const [leaf] = certificatesIn(parts.cert).certificates;
      const fits = leaf?.checkPrivateKey(createPrivateKey(parts.key));
      return fits && digestOf(parts) === digest ? parts : undefined;
    } catch {
      return undefined;
    }
  }

  /** The authorities of a version, for whoever cannot wait. */
  bundle(digest: string): string {
    try {
      return readFileSync(this.paths(digest).ca, 'utf8');
    } catch {
      return '';
    }
  }

  /** Removes all others, and what a crash has left. */
  async keepOnly(digests: ReadonlySet<string | undefined>): Promise<void> {
    const names = await readdir(this.#root).catch(() => []);
    for (const name of names) {
      if (!digests.has(name)) await rm(join(this.#root, name), { recursive: true, force: true });
    }
  }
}

export const samePaths = (a: TlsPaths, b: TlsPaths): boolean => a.cert === b.cert && a.key === b.key && a.ca === b.ca;

/** The key belongs to the certificate, so that it needs no part in this. */
const digestOf = ({ cert, ca }: VersionParts): string =>
  createHash('sha256').update(`${cert.length}:`).update(cert).update(ca).digest('hex').slice(0, 32);

async function writeSynced(path: string, content: string): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
}
