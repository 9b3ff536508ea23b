import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { logFile, logsFolder } from './processes/recorded-process.ts';
import { clearAway, readRecord, writeRecord } from './sandbox-record.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'attune-record-'));
  writeRecord(dir, { name: 'default', server: 'https://127.0.0.1:1', owner: undefined, keep: false, ready: true });
  mkdirSync(join(dir, 'etcd'));
  mkdirSync(logsFolder(dir));
  writeFileSync(logFile(dir, 'etcd'), 'why\n');
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

test('nothing stays', async () => {
  await clearAway(dir, false);
  expect(existsSync(dir)).toBe(false);
  await clearAway(dir, false, true);
  expect(existsSync(dir)).toBe(false);
});

test('the logs stay until the next time', async () => {
  await clearAway(dir, false, true);
  expect(readdirSync(dir, { recursive: true })).toEqual(['logs', join('logs', 'etcd.log')]);
  await clearAway(dir, false);
  expect(existsSync(dir)).toBe(false);
});

test('the data stays, and what was said about it', async () => {
  await clearAway(dir, true);
  expect(readdirSync(dir).sort()).toEqual(['etcd', 'sandbox.json']);
  expect(readRecord(dir)).toMatchObject({ keep: true, ready: false });
});
