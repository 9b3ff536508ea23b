import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { eventually } from '../../../test/support/eventually.ts';
import { KubeletVolume } from '../../../test/support/kubelet-volume.ts';
import { testFolder } from '../../../test/support/test-folder.ts';
import { type FolderWatch, watchFolders } from './watch-folders.ts';

const folder = testFolder('watch');
const NEVER = 2 ** 30;
const SOON = 20;

const open: FolderWatch[] = [];
afterEach(() => {
  for (const watch of open.splice(0)) watch.close();
  vi.useRealTimers();
});

/** What a file held at each call; '-' where there was none. */
function seenAt(file: string, roots: readonly string[], pollMs: number): string[] {
  const seen: string[] = [];
  const read = (): string => {
    try {
      return readFileSync(file, 'utf8');
    } catch {
      return '-';
    }
  };
  open.push(watchFolders(roots, () => seen.push(read()), pollMs));
  return seen;
}

it('tells of one swap after the other, by the watch alone', async () => {
  const volume = new KubeletVolume(folder.path);
  await volume.swap({ 'redis-auth/password': '0' });
  const seen = seenAt(join(volume.root, 'redis-auth/password'), [volume.root], NEVER);
  for (const value of ['1', '2', '3', '4']) {
    await volume.swap({ 'redis-auth/password': value });
    await eventually(() => seen.at(-1)).toBe(value);
  }
});

it('tells once what happens together', async () => {
  const seen = seenAt(join(folder.path, 'marker'), [folder.path, folder.path], NEVER);
  // Nothing else runs in between: all of it has happened when the first notice is read.
  execFileSync(
    'touch',
    Array.from({ length: 500 }, (_, at) => join(folder.path, `f${at}`)),
  );
  await eventually(() => seen.length).toBeGreaterThan(0);
  writeFileSync(join(folder.path, 'marker'), 'm');
  await eventually(() => seen.at(-1)).toBe('m');
  expect(seen).toEqual(['-', 'm']);
});

it('tells what the watch has noticed no second time at the next look', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] });
  const root = join(folder.path, 'mount');
  await mkdir(root);
  const seen = seenAt(join(root, 'tls.crt'), [root], NEVER);
  await rename(await folder.file('new', '1'), join(root, 'tls.crt'));
  await eventually(() => vi.getTimerCount()).toBe(2);
  vi.advanceTimersByTime(1000);
  expect(seen).toEqual(['1']);
  vi.advanceTimersByTime(NEVER);
  expect([seen, vi.getTimerCount()]).toEqual([['1'], 1]);
});

it('finds a volume that appears later, is deleted, and made again', async () => {
  const root = join(folder.path, 'mount');
  const seen = seenAt(join(root, 'redis-auth/password'), [root], SOON);
  for (const value of ['1', '2']) {
    const volume = new KubeletVolume(root);
    await volume.swap({ 'redis-auth/password': value });
    await eventually(() => seen.at(-1)).toBe(value);
    await volume.swap({ 'redis-auth/password': `${value}+` });
    await eventually(() => seen.at(-1)).toBe(`${value}+`);
    await rm(root, { recursive: true });
    await eventually(() => seen.at(-1)).toBe('-');
  }
});

it('watches a folder that a look has found', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const root = join(folder.path, 'mount');
  const seen = seenAt(join(root, 'tls.crt'), [root], NEVER);
  await mkdir(root);
  vi.advanceTimersByTime(NEVER);
  await eventually(() => seen).toEqual(['-']);
  await writeFile(join(root, 'tls.crt'), '1');
  await eventually(() => seen.at(-1)).toBe('1');
});

it('watches a folder that was made again at once, by the watch alone', async () => {
  const root = join(folder.path, 'mount');
  await mkdir(root);
  const seen = seenAt(join(root, 'tls.crt'), [root], NEVER);
  for (const value of ['1', '2']) {
    execFileSync('sh', ['-c', 'rm -r "$1" && mkdir "$1"', 'sh', root]);
    await eventually(() => seen.at(-1)).toBe('-');
    await writeFile(join(root, 'tls.crt'), value);
    await eventually(() => seen.at(-1)).toBe(value);
  }
});

it('finds a change two folders deep where there is no link, by looking', async () => {
  await mkdir(join(folder.path, 'redis-auth'));
  const password = await folder.file('redis-auth/password', '0');
  const seen = seenAt(password, [folder.path], SOON);
  for (const value of ['1', '2']) {
    await writeFile(password, value);
    await eventually(() => seen.at(-1)).toBe(value);
  }
});

it('is silent after it was closed, also about what it has noticed already', async () => {
  const file = join(folder.path, 'a');
  const silent = seenAt(file, [folder.path], SOON);
  writeFileSync(file, '1');
  await new Promise((resolve) => setImmediate(resolve));
  open.shift()?.close();
  const seen = seenAt(file, [folder.path], SOON);
  await folder.file('a', '2');
  await eventually(() => seen.at(-1)).toBe('2');
  expect(silent).toEqual([]);
});
