import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { chmod, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import type { Progress, ShowStatus } from '../progress.ts';
import type { Release } from './projects.ts';

const ATTEMPTS = 3;
/** A connection that delivers nothing for so long counts as broken. */
const STALL_MS = 30_000;

/**
 * Downloads the program of an official release to `target`, if the file has the SHA-256 `sum`. What has arrived of an
 * interrupted download stays beside the target; the next attempt, or the next run of the program, continues it.
 */
export async function installRelease(
  { url, member, sum }: Release & { readonly sum: string },
  target: string,
  progress: Progress,
  signal: AbortSignal = new AbortController().signal,
): Promise<void> {
  await mkdir(dirname(target), { recursive: true });
  const file = basename(url);
  const partial = join(dirname(target), `.${file}.part`);
  await download(url, partial, progress, signal);
  progress.showStatus(`comparing ${file} with its checksum`);
  const hash = createHash('sha256');
  await pipeline(createReadStream(partial), hash);
  const found = hash.digest('hex');
  if (found !== sum) {
    await rm(partial);
    throw new Error(`${url} has SHA-256 ${found}, and not ${sum}, which is expected: it is not used`);
  }
  await (member ? unpack(partial, member, target) : place(partial, target));
}

async function download(url: string, partial: string, progress: Progress, signal: AbortSignal): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await downloadRest(url, partial, progress.showStatus, signal);
    } catch (error) {
      if (attempt === ATTEMPTS || error instanceof Refused || signal.aborted) throw error;
      progress.say(`${reasonOf(error)}; continuing`);
    }
  }
}

/** An answer that will be the same at the next attempt. */
class Refused extends Error {}

async function downloadRest(url: string, partial: string, showStatus: ShowStatus, signal: AbortSignal): Promise<void> {
  const have = (await stat(partial).catch(() => undefined))?.size ?? 0;
  const stalled = new AbortController();
  const watchdog = setTimeout(() => stalled.abort(), STALL_MS);
  try {
    showStatus(`loading ${basename(url)}`);
    const response = await fetch(url, {
      headers: have > 0 ? { range: `bytes=${have}-` } : {},
      signal: AbortSignal.any([signal, stalled.signal]),
    });
    if (response.status === 416) await rm(partial); // ours is longer than the file: not a part of it
    const continued = response.status === 206;
    if (!response.ok || !response.body) throw new Refused(`${url} answered ${response.status}`);
    let done = continued ? have : 0;
    const total = done + Number(response.headers.get('content-length') ?? Number.NaN);
    // Written piece by piece, so that an interrupted download can be continued.
    await using file = await open(partial, continued ? 'a' : 'w');
    for await (const chunk of response.body) {
      watchdog.refresh();
      await file.write(chunk);
      done += chunk.length;
      const of = Number.isFinite(total) ? ` of ${megabytes(total)}` : '';
      showStatus(`loading ${basename(url)}, ${megabytes(done)}${of} MB`);
    }
    if (Number.isFinite(total) && done !== total) throw new Error(`${url} ended after ${done} of ${total} bytes`);
  } finally {
    clearTimeout(watchdog);
  }
}

const megabytes = (bytes: number): number => Math.round(bytes / 1_000_000);

async function unpack(archive: string, member: string, target: string): Promise<void> {
  const folder = `${target}.unpacked`;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder);
  // tar is on every Linux and macOS; the latter's also reads the zip files that etcd publishes for it.
  await promisify(execFile)('tar', ['-xf', archive, '-C', folder, member]);
  await place(join(folder, member), target);
  await rm(folder, { recursive: true });
  await rm(archive);
}

/** Renames the complete file, so that nobody ever runs half a program. */
async function place(file: string, target: string): Promise<void> {
  await chmod(file, 0o755);
  await rename(file, target);
}

/** An error in one line, with its cause: fetch puts the reason there. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? ` (${error.cause.message})` : '';
  return `${error.message}${cause}`.split('\n')[0] ?? '';
}
