import { readFileSync } from 'node:fs';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import type { TlsOptions } from './connection.ts';

/** Paths of PEM files that others rotate. */
export interface TlsFiles {
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}
type Bytes = Partial<Record<keyof TlsFiles, Buffer>>;

const LOOK_MS = 60_000;
// What has just changed may still be being written, and what cannot be read may be back in a moment.
const LOOK_SOON_MS = 1_000;

/**
 * The options with what stands in the files; the same object until one of them holds something else. Looks at them
 * once a minute, and after a refusal at once. Throws where a file cannot be read to begin with.
 */
export function tlsFromFiles(
  fixed: TlsOptions,
  files: TlsFiles,
  clock: Clock = systemClock,
): (refused?: boolean) => TlsOptions {
  let bytes = readAll(files);
  let tls: TlsOptions = { ...fixed, ...bytes };
  if (Object.keys(bytes).length === 0) return () => tls;
  let lookAt = clock.now() + LOOK_MS;
  return (refused = false) => {
    if (!refused && clock.now() < lookAt) return tls;
    lookAt = clock.now() + LOOK_SOON_MS;
    try {
      const read = readAll(files);
      if (isSame(read, bytes)) lookAt = clock.now() + LOOK_MS;
      else {
        bytes = read;
        tls = { ...fixed, ...bytes };
      }
    } catch {
      // The last ones have to do.
    }
    return tls;
  };
}

/** Synchronous on purpose: a few kilobytes once a minute, and who opens a socket waits for no promise. */
function readAll(files: TlsFiles): Bytes {
  const bytes: Bytes = {};
  for (const part of ['ca', 'cert', 'key'] as const) {
    const file = files[part];
    if (file) bytes[part] = readPem(file);
  }
  return bytes;
}

function readPem(file: string): Buffer {
  let pem: Buffer;
  try {
    pem = readFileSync(file);
  } catch (error) {
    throw new Error(`${file}: cannot be read (${(error as NodeJS.ErrnoException).code})`, { cause: error });
  }
  if (pem.length === 0) throw new Error(`${file}: expected PEM, but the file is empty`);
  return pem;
}

function isSame(one: Bytes, other: Bytes): boolean {
  return (['ca', 'cert', 'key'] as const).every((part) => Buffer.compare(one[part] ?? NONE, other[part] ?? NONE) === 0);
}

const NONE = Buffer.alloc(0);
