import { open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

export const DUMP = 'dump.rdb';
export const AOF_FOLDER = 'appendonlydir';

/** What a Redis that starts on a folder would find there. */
export interface DataFolder {
  /** Undefined: there is no append-only file, so that only the dump counts. */
  readonly aof: 'empty' | 'data' | undefined;
  readonly dump: 'empty' | 'data' | undefined;
}

export async function lookAtData(dataDir: string): Promise<DataFolder> {
  const folder = join(dataDir, AOF_FOLDER);
  const names: readonly string[] = await readdir(folder).catch(() => []);
  const files = names.filter((name) => !name.endsWith('.manifest'));
  const kinds = await Promise.all(files.map((name) => kindOf(join(folder, name))));
  const hasManifest = names.length > files.length;
  return {
    aof: hasManifest ? (kinds.includes('data') ? 'data' : 'empty') : undefined,
    dump: await kindOf(join(dataDir, DUMP)),
  };
}

// A file without keys has nothing before its end but some fields about itself.
const HEAD_BYTES = 4096;
const MAGIC = /^REDIS\d{4}/;
const AUX = 0xfa;
const END = 0xff;

/** An RDB file is empty if it ends where keys would begin; any other file if it has no bytes. In doubt there is data. */
async function kindOf(path: string): Promise<'empty' | 'data' | undefined> {
  const { size } = await stat(path).catch(() => ({ size: undefined }));
  if (size === undefined) return undefined;
  if (size === 0) return 'empty';
  const file = await open(path).catch(() => undefined);
  if (!file) return 'data';
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    return isEmptyRdb(buffer.subarray(0, bytesRead)) ? 'empty' : 'data';
  } finally {
    await file.close();
  }
}

function isEmptyRdb(head: Buffer): boolean {
  if (!MAGIC.test(head.toString('latin1', 0, 9))) return false;
  let at: number | undefined = 9;
  while (at !== undefined && head[at] === AUX) at = afterText(head, afterText(head, at + 1));
  return at !== undefined && head[at] === END;
}

/** Where the next field begins after a text, which may be written as a number; undefined: it is not understood. */
function afterText(head: Buffer, at: number | undefined): number | undefined {
  const first = at === undefined ? undefined : head[at];
  if (at === undefined || first === undefined) return undefined;
  if (first < 0x40) return at + 1 + first;
  if (first < 0x80) return at + 2 + (((first & 0x3f) << 8) | (head[at + 1] ?? 0));
  const bytes = { 192: 1, 193: 2, 194: 4 }[first];
  return bytes === undefined ? undefined : at + 1 + bytes;
}
