import { readdirSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DATA_LINK } from './read-snapshot.ts';

/** What can be seen of a folder without reading its files. */
export interface FolderMark {
  /** Which folder it is: another one may be put into its place. '': there is none. */
  readonly identity: string;
  /** Changes with the files: where `..data` leads to, or else when each of them was written. */
  readonly state: string;
}

const NONE: FolderMark = { identity: '', state: '' };

/** At once, without waiting: what changes after the call has certainly not gone into it. Mounted Secrets are in memory. */
export function markOf(root: string): FolderMark {
  try {
    const { dev, ino, birthtimeMs } = statSync(root);
    return { identity: `${dev}:${ino}:${birthtimeMs}`, state: linkOf(root) ?? writtenAt(root, 2) };
  } catch {
    return NONE;
  }
}

function linkOf(root: string): string | undefined {
  try {
    return readlinkSync(join(root, DATA_LINK));
  } catch {
    return undefined;
  }
}

/** Two levels are what projected Secrets have: `<name>/<key>`. */
function writtenAt(folder: string, levels: number): string {
  const marks = readdirSync(folder).map((name) => `${name}:${entryAt(join(folder, name), levels)}`);
  return marks.toSorted().join();
}

/** What cannot be looked at has the mark of nothing, and does not hide the rest. */
function entryAt(path: string, levels: number): string {
  try {
    const entry = statSync(path);
    const below = entry.isDirectory() && levels > 1 ? writtenAt(path, levels - 1) : '';
    return `${entry.ino}:${entry.size}:${entry.mtimeMs}:${entry.ctimeMs}(${below})`;
  } catch {
    return '';
  }
}
