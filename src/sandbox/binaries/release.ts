import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, type Stats } from 'node:fs';
import { chmod, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import type { Release } from './pins.ts';

/** A line for whoever waits, which stays to be read. */
export type Progress = (line: string) => void;
/** What is done at this moment and how far it is: called often, each time in the place of what was said before. */
export type Activity = (state: string) => void;

/** Both, for work that takes long. */
export interface Telling {
  readonly say: Progress;
  readonly activity: Activity;
}

const ATTEMPTS = 3;
/** A connection that brings nothing for so long is taken for dead. */
const STALL_MS = 30_000;

/**
 * Puts the program of an official release at `target`, after comparing it with the checksum published beside it.
 * What was loaded of a cut download stays beside the target and is continued by the next attempt, also of another run.
 */
export async function installRelease(
  release: Release,
  target: string,
  telling: Telling,
  signal: AbortSignal = new AbortController().signal,
): Promise<void> {
  await mkdir(dirname(target), { recursive: true });
  const file = basename(release.url);
  const partial = join(dirname(target), `.${file}.part`);
  telling.activity(`asking ${new URL(release.checksumUrl).host} for the checksum of ${file}`);
  const expected = publishedChecksum(await fetchText(release.checksumUrl, signal), file);
  if (!expected) throw new Error(`${release.checksumUrl} does not name a SHA-256 of ${file}`);

  await load(release.url, partial, telling, signal);
  telling.activity(`comparing ${file} with its checksum`);
  const found = await sha256(partial);
  if (found !== expected) {
    await rm(partial);
    throw new Error(`${release.url} has SHA-256 ${found}, but ${expected} is published`);
  }
  await (release.member ? unpack(partial, release.member, target) : place(partial, target));
}

/**
 * The SHA-256 of a file in a published text: the bare sum, lines of "sum  name", or GitHub's JSON of a release.
 */
export function publishedChecksum(text: string, file: string): string | undefined {
  const bare = /^([0-9a-f]{64})\s*$/.exec(text);
  if (bare) return bare[1];
  for (const line of text.split('\n')) {
    const [sum, name] = line.trim().split(/\s+\*?/);
    if (name === file && sum && /^[0-9a-f]{64}$/.test(sum)) return sum;
  }
  return githubDigest(text, file);
}

function githubDigest(text: string, file: string): string | undefined {
  try {
    const { assets } = JSON.parse(text) as { assets?: { name?: string; digest?: string }[] };
    const digest = assets?.find((asset) => asset.name === file)?.digest;
    return digest ? /^sha256:([0-9a-f]{64})$/.exec(digest)?.[1] : undefined;
  } catch {
    return undefined; // not JSON: then there is no sum in it
  }
}

async function load(url: string, partial: string, telling: Telling, signal: AbortSignal): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await loadRest(url, partial, telling.activity, signal);
      return;
    } catch (error) {
      if (attempt === ATTEMPTS || error instanceof Refused || signal.aborted) throw error;
      telling.say(`${reasonOf(error)}; continuing`);
    }
  }
}

/** The server's answer will be the same next time. */
class Refused extends Error {}

async function loadRest(url: string, partial: string, activity: Activity, signal: AbortSignal): Promise<void> {
  const have = (await sizeOf(partial)) ?? 0;
  const stalled = new AbortController();
  let watchdog = setTimeout(() => stalled.abort(), STALL_MS);
  try {
    activity(`loading ${basename(url)}`);
    const response = await fetch(url, {
      headers: have > 0 ? { range: `bytes=${have}-` } : {},
      signal: AbortSignal.any([signal, stalled.signal]),
    });
    if (response.status === 416) await rm(partial); // longer than the file: not a part of it
    const continued = response.status === 206;
    if (!response.ok || !response.body) throw new Refused(`${url} answered ${response.status}`);
    const offset = continued ? have : 0;
    const total = offset + Number(response.headers.get('content-length') ?? Number.NaN);
    let done = offset;
    // Written piece by piece: what has arrived before a cut need not come again.
    await using file = await open(partial, continued ? 'a' : 'w');
    for await (const chunk of response.body) {
      clearTimeout(watchdog);
      watchdog = setTimeout(() => stalled.abort(), STALL_MS);
      await file.write(chunk);
      done += chunk.length;
      activity(loaded(basename(url), done, total));
    }
    if (Number.isFinite(total) && done !== total) throw new Error(`${url} ended after ${done} of ${total} bytes`);
  } finally {
    clearTimeout(watchdog);
  }
}

function loaded(file: string, done: number, total: number): string {
  const megabytes = (bytes: number) => Math.round(bytes / 1_000_000);
  return `loading ${file}, ${megabytes(done)}${Number.isFinite(total) ? ` of ${megabytes(total)}` : ''} MB`;
}

async function fetchText(url: string, signal: AbortSignal): Promise<string> {
  const response = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(STALL_MS)]) });
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  return await response.text();
}

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

/** The name appears with the whole program behind it, or not at all. */
async function place(file: string, target: string): Promise<void> {
  await chmod(file, 0o755);
  await rename(file, target);
}

async function sha256(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}

async function sizeOf(file: string): Promise<number | undefined> {
  return await stat(file).then(
    (found: Stats) => found.size,
    () => undefined,
  );
}

/** One line for an error, with the cause that fetch hides. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? ` (${error.cause.message})` : '';
  return `${error.message}${cause}`.split('\n')[0] ?? '';
}
