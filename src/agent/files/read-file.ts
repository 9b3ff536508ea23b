import { constants, lstat, open } from 'node:fs/promises';
import type { FileContent } from './snapshot.ts';

const { O_NONBLOCK, O_RDONLY } = constants;

/** Kubernetes allows 1 MiB for a whole Secret. */
const MOST_BYTES = 2 * 1024 * 1024;

/** One file. Why it cannot be read is told without anything of its content. */
export async function readFile(path: string): Promise<FileContent> {
  try {
    // Without this flag a named pipe would be waited for.
    const file = await open(path, O_RDONLY | O_NONBLOCK);
    try {
      const found = await file.stat();
      if (found.isDirectory()) return unreadable('is a folder, expected a file');
      if (!found.isFile()) return unreadable('is no file but a pipe or a device');
      if (found.size > MOST_BYTES) return tooLarge(found.size);
      const bytes = await file.readFile();
      return bytes.length > MOST_BYTES ? tooLarge(bytes.length) : { kind: 'bytes', bytes };
    } finally {
      await file.close();
    }
  } catch (error) {
    return await contentOf(error, path);
  }
}

const tooLarge = (size: number): FileContent => unreadable(`is ${size} bytes, at most ${MOST_BYTES} are read`);

export const unreadable = (why: string): FileContent => ({ kind: 'unreadable', why });

/** What an error means for whoever wants to read there. */
export async function contentOf(error: unknown, path: string): Promise<FileContent> {
  const { code = 'unknown error' } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT')
    return (await isThere(path)) ? unreadable('is a link that leads nowhere') : { kind: 'missing' };
  return unreadable(WORDS[code] ?? `cannot be read (${code})`);
}

const WORDS: Readonly<Record<string, string>> = {
  EACCES: 'cannot be read: no permission (EACCES)',
  EPERM: 'cannot be read: no permission (EPERM)',
  ELOOP: 'is a link that leads back to itself (ELOOP)',
  ENOTDIR: 'is no folder (ENOTDIR)',
  ENXIO: 'is no file but a socket (ENXIO)',
  EIO: 'cannot be read: the disk fails (EIO)',
};

async function isThere(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch {
    return false;
  }
}
