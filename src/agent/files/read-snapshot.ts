import { readdir, readlink, stat } from 'node:fs/promises';
import { isAbsolute, join, normalize, resolve } from 'node:path';
import { contentOf, readFile, unreadable } from './read-file.ts';
import type { FileContent, Snapshot } from './snapshot.ts';

/** The link by which the kubelet puts all files of a volume in place at once. */
export const DATA_LINK = '..data';

/** Only a folder that is swapped all the time needs as many. */
const MOST_READS = 5;
/** Of folders in each other: links may lead round in circles. */
const MOST_DEPTH = 8;

/**
 * All files of a mounted folder, read through one `..data`. If that moved meanwhile they are read again: the kubelet removes
 * what was there before, and what is gone halfway must not look as if it was never there. A folder without such a link is
 * read as it is.
 */
export async function readSnapshot(root: string): Promise<Snapshot> {
  for (let reads = 0; reads < MOST_READS; reads += 1) {
    const link = await linkOf(root);
    const found: Found = new Map();
    await readFolder(resolve(root, link ?? ''), '', found);
    if ((await linkOf(root)) === link) return snapshotOf(root, found);
  }
  return snapshotOf(root, new Map([['', unreadable('is replaced faster than it can be read')]]));
}

/** By path within the folder; '' is the folder itself. A folder that could be read says that it is no file. */
type Found = Map<string, FileContent>;

const FOLDER = unreadable('is a folder, expected a file');

/** Where `..data` leads to; undefined where there is none. */
async function linkOf(root: string): Promise<string | undefined> {
  try {
    return await readlink(join(root, DATA_LINK));
  } catch {
    return undefined;
  }
}

async function readFolder(folder: string, within: string, found: Found): Promise<void> {
  let names: readonly string[];
  try {
    names = await readdir(folder);
  } catch (error) {
    found.set(within, await contentOf(error, folder));
    return;
  }
  found.set(within, FOLDER);
  for (const name of names) {
    // What the kubelet keeps for itself.
    if (within === '' && name.startsWith('..')) continue;
    await readEntry(join(folder, name), within === '' ? name : `${within}/${name}`, found);
  }
}

async function readEntry(path: string, within: string, found: Found): Promise<void> {
  const isFolder = await stat(path).then(
    (entry) => entry.isDirectory(),
    () => false,
  );
  if (!isFolder) found.set(within, await readFile(path));
  else if (within.split('/').length < MOST_DEPTH) await readFolder(path, within, found);
  else found.set(within, unreadable(`is more than ${MOST_DEPTH} folders deep`));
}

const snapshotOf = (root: string, found: Found): Snapshot => ({
  root,
  get(path) {
    const within = normalize(path).replace(/^\.$/, '');
    if (isAbsolute(within) || within.split('/')[0] === '..') return { kind: 'missing' };
    return found.get(within) ?? closestFolder(found, within);
  },
});

/** What is below a folder that cannot be read is not simply missing. */
function closestFolder(found: Found, within: string): FileContent {
  for (let at = within; at !== ''; ) {
    at = at.slice(0, Math.max(0, at.lastIndexOf('/')));
    const content = found.get(at);
    if (content?.kind === 'unreadable' && content !== FOLDER) {
      return unreadable(`is in ${at === '' ? 'the mounted folder' : `folder ${at}`}, which ${content.why}`);
    }
    if (content) break;
  }
  return { kind: 'missing' };
}
