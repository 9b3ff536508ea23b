import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../../../test/support/wait.ts';
import { daemonsWorkingIn, killProcessesIn } from './processes-in.ts';

let folder: string;
const started: ChildProcess[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pi-'));
  mkdirSync(join(folder, 'in'));
});
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

function daemon(cwd: string): number {
  const child = spawn('sleep', ['60'], { cwd, detached: true, stdio: 'ignore' });
  started.push(child);
  return child.pid ?? 0;
}

test('all that work in the folder or below are killed, and nobody else', async () => {
  const inside = [daemon(join(folder, 'in')), daemon(folder)];
  mkdirSync(`${folder}-beside`);
  const outside = daemon(`${folder}-beside`);
  await until(() => daemonsWorkingIn(folder).length === 2, { what: 'both at work' });
  expect(daemonsWorkingIn(folder).toSorted()).toEqual(inside.toSorted());
  expect(killProcessesIn(folder)).toBe(true);
  expect(daemonsWorkingIn(folder)).toEqual([]);
  expect(daemonsWorkingIn(`${folder}-beside`)).toEqual([outside]);
  rmSync(`${folder}-beside`, { recursive: true });
});

test('also where the folder is gone already', async () => {
  const pid = daemon(join(folder, 'in'));
  await until(() => daemonsWorkingIn(folder).length === 1, { what: 'it at work' });
  rmSync(join(folder, 'in'), { recursive: true });
  expect(daemonsWorkingIn(folder)).toEqual([pid]);
  expect(killProcessesIn(folder)).toBe(true);
});

test('a folder that does not exist', () => {
  expect(killProcessesIn(join(folder, 'none'))).toBe(true);
});
