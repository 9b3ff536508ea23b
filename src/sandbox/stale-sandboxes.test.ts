import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { identityOf, isAlive, ownIdentity, type ProcessIdentity } from '../runtime/process-identity.ts';
import { sandboxFolder } from './folders.ts';
import { withLock } from './lock.ts';
import { startDaemon, terminate } from './processes/daemon.ts';
import { logFile, logsFolder } from './processes/process-logs.ts';
import { removeStaleSandboxes } from './stale-sandboxes.ts';
import { writeStateFile } from './state-file.ts';

let state: string;
let env: { readonly XDG_STATE_HOME: string };
let dead: ProcessIdentity | undefined;
beforeEach(async () => {
  state = mkdtempSync(join(tmpdir(), 'attune-stale-'));
  env = { XDG_STATE_HOME: state };
  mkdirSync(join(state, 'attune', 'sandbox'), { recursive: true });
  const killed = spawn('sleep', ['600']);
  dead = identityOf(killed.pid ?? 0);
  killed.kill('SIGKILL');
  await once(killed, 'exit');
});
afterEach(() => rmSync(state, { recursive: true }));

const folder = (name: string) => sandboxFolder(env, name);
const left = () => readdirSync(join(state, 'attune', 'sandbox')).sort();
const write = (name: string, owner: ProcessIdentity | undefined, keep = false) =>
  writeStateFile(folder(name), { name, server: undefined, owner, keep, ready: true });
async function clear(): Promise<readonly string[]> {
  const lines: string[] = [];
  await removeStaleSandboxes(env, (line) => lines.push(line));
  return lines;
}

test('a sandbox whose process was killed goes, with its processes', async () => {
  write('lost', dead);
  const process = startDaemon(folder('lost'), { name: 'etcd', argv: ['sleep', '600'], env: { PATH: '/usr/bin:/bin' } });
  expect(await clear()).toEqual([`clearing away the sandbox lost, whose process ${dead?.pid} has died`]);
  expect(isAlive(process.identity)).toBe(false);
  expect(left()).toEqual([]);
});

test('a removal or a beginning that was killed is finished', async () => {
  mkdirSync(folder('half'));
  writeFileSync(join(folder('half'), 'tokens.csv'), '');
  const process = startDaemon(folder('half'), { name: 'etcd', argv: ['sleep', '600'], env: { PATH: '/usr/bin:/bin' } });
  await clear();
  expect(isAlive(process.identity)).toBe(false);
  expect(left()).toEqual([]);
});

test('locks of the dead go', async () => {
  for (const file of ['one.lock', 'one.lock.abc', 'two.lock.def']) {
    writeFileSync(join(state, 'attune', 'sandbox', file), JSON.stringify(dead));
  }
  await clear();
  expect(left()).toEqual([]);
});

test('what is wanted stays: one that stands alone, one of a living process, kept data, logs of a failure', async () => {
  write('alone', undefined);
  write('ours', ownIdentity());
  write('kept', dead, true);
  const alone = startDaemon(folder('alone'), { name: 'etcd', argv: ['sleep', '600'], env: { PATH: '/usr/bin:/bin' } });
  mkdirSync(logsFolder(folder('failed')), { recursive: true });
  writeFileSync(logFile(folder('failed'), 'etcd'), 'why\n');
  await clear();
  expect(left()).toEqual(['alone', 'failed', 'kept', 'ours']);
  expect(await clear()).toEqual([]);
  expect(isAlive(alone.identity)).toBe(true);
  await terminate(alone.identity, 0);
});

test('what a living process is busy with is not touched, and nobody waits for it', async () => {
  await withLock(`${folder('busy')}.lock`, { onWait: () => {} }, async () => {
    mkdirSync(folder('busy'));
    writeFileSync(join(folder('busy'), 'sandbox.json.new'), '');
    await clear();
    expect(left()).toContain('busy');
  });
});

test('what is no sandbox is left alone', async () => {
  mkdirSync(join(state, 'attune', 'sandbox', 'My notes'));
  expect(await clear()).toEqual([]);
  expect(left()).toEqual(['My notes']);
});
