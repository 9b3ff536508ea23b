import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import type { TlsOptions } from './connection.ts';

/** Paths of PEM files, which may be rotated. */
type TlsFiles = Readonly<Partial<Record<'ca' | 'cert' | 'key', string | undefined>>>;
type Bytes = Partial<Record<keyof TlsFiles, Buffer>>;

const REREAD_MS = 60_000;
// After a change, which may not be complete, and after a read that failed.
const RETRY_MS = 1_000;

/**
 * The TLS options with the contents of the files; the same object until a file changes. Reads them again once a minute,
 * and at once after a refusal. Throws if a file cannot be read the first time.
 */
export function tlsFromFiles(
  fixed: TlsOptions,
  files: TlsFiles,
  clock: Clock = systemClock,
): (refused?: boolean) => TlsOptions {
  let bytes = readAll(files);
  let tls: TlsOptions = { ...fixed, ...bytes };
  if (Object.keys(bytes).length === 0) return () => tls;
  let rereadAt = clock.now() + REREAD_MS;
  return (refused = false) => {
    if (!refused && clock.now() < rereadAt) return tls;
    rereadAt = clock.now() + RETRY_MS;
    try {
      const read = readAll(files);
      if (isDeepStrictEqual(read, bytes)) rereadAt = clock.now() + REREAD_MS;
      else {
        bytes = read;
        tls = { ...fixed, ...bytes };
      }
    } catch {
      // The last contents stay in use.
    }
    return tls;
  };
}

/** Synchronous on purpose: a few kilobytes once a minute, and opening a socket stays synchronous. */
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
