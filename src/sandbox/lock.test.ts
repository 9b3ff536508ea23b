import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { identityOf } from '../runtime/process-identity.ts';
import { withLock } from './lock.ts';

let dir: string;
let path: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'attune-lock-'));
  path = join(dir, 'it.lock');
});
afterEach(() => rmSync(dir, { recursive: true }));

const patient = { onWait: () => {} };

test('two never hold it at once, and nothing is left of it', async () => {
  let inside = 0;
  let most = 0;
  const told: number[] = [];
  const work = async () => {
    inside++;
    most = Math.max(most, inside);
    for (let index = 0; index < 20; index++) await turn();
    inside--;
  };
  await Promise.all([1, 2, 3].map(() => withLock(path, { onWait: (pid) => told.push(pid) }, work)));
  expect(most).toBe(1);
  expect(told).toEqual([process.pid, process.pid]);
  expect(readdirSync(dir)).toEqual([]);
});

test('work that fails gives it back', async () => {
  await expect(withLock(path, patient, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await withLock(path, patient, async () => 'next')).toBe('next');
});

test('the lock of a process that was killed is taken over, and its leftovers go', async () => {
  const holder = spawn('sleep', ['600']);
  const identity = JSON.stringify(identityOf(holder.pid ?? 0));
  writeFileSync(path, identity);
  writeFileSync(`${path}.abc`, identity);
  holder.kill('SIGKILL');
  await once(holder, 'exit');
  await withLock(path, patient, async () => {});
  expect(readdirSync(dir)).toEqual([]);
});

test('a lock that cannot be written leaves nothing', async () => {
  const lock = fileURLToPath(new URL('lock.ts', import.meta.url));
  const script = `import(${JSON.stringify(lock)}).then(({ withLock }) => withLock(${JSON.stringify(path)}, {}, () => {}))`;
  // A limit on the size of files fails a write as a full disk does: after the file was made.
  const writer = spawn('sh', ['-c', 'ulimit -f 0; exec "$@"', 'sh', process.execPath, '-e', script]);
  const [code] = await once(writer, 'exit');
  expect(code).toBe(1);
  expect(readdirSync(dir)).toEqual([]);
});

test('who waits can be called off', async () => {
  const caller = new AbortController();
  await withLock(path, patient, async () => {
    const second = withLock(path, { onWait: () => caller.abort(), signal: caller.signal }, async () => {});
    await expect(second).rejects.toThrow('aborted');
  });
  expect(readdirSync(dir)).toEqual([]);
});
