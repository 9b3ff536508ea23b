import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { logFile, logsFolder } from './processes/process-logs.ts';
import { removeSandbox } from './remove-sandbox.ts';
import { readStateFile, writeStateFile } from './state-file.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'attune-remove-'));
  writeStateFile(dir, { name: 'default', server: 'https://127.0.0.1:1', owner: undefined, keep: false, ready: true });
  mkdirSync(join(dir, 'etcd'));
  mkdirSync(logsFolder(dir));
  writeFileSync(logFile(dir, 'etcd'), 'why\n');
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

test('everything is removed', async () => {
  await removeSandbox(dir, false);
  expect(existsSync(dir)).toBe(false);
  await removeSandbox(dir, false, true);
  expect(existsSync(dir)).toBe(false);
});

test('logs can be kept until the next removal', async () => {
  await removeSandbox(dir, false, true);
  expect(readdirSync(dir, { recursive: true })).toEqual(['logs', join('logs', 'etcd.log')]);
  await removeSandbox(dir, false);
  expect(existsSync(dir)).toBe(false);
});

test('data can be kept, with the state file', async () => {
  await removeSandbox(dir, true);
  expect(readdirSync(dir).sort()).toEqual(['etcd', 'sandbox.json']);
  expect(readStateFile(dir)).toMatchObject({ keep: true, ready: false });
});
