import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { until } from '../../../test/support/wait.ts';
import { identityOf, isAlive } from './process-identity.ts';
import { end, forget, lastLines, logFile, logNames, recorded, start } from './recorded-process.ts';

const dir = mkdtempSync(join(tmpdir(), 'attune-recorded-'));
afterAll(() => rmSync(dir, { recursive: true }));
const env = { PATH: '/usr/bin:/bin' };

test('a process is recorded under its name, and its record names this process and no other', async () => {
  const process = start(dir, { name: 'sleeper', argv: ['sleep', '600'], env });
  const record = recorded(dir).get('sleeper');
  expect(record).toEqual(process.identity);
  expect(isAlive(process.identity)).toBe(true);
  await until(() => identityOf(process.identity.pid)?.command === 'sleep 600', { what: 'the launcher being replaced' });
  expect(isAlive(process.identity)).toBe(true);
  await end(process.identity, 0);
  expect(isAlive(process.identity)).toBe(false);
  expect(await process.ended).toEqual({ exitCode: 137, words: 'was ended by SIGKILL' });
  forget(dir, 'sleeper');
  expect(recorded(dir).has('sleeper')).toBe(false);
});

test('the output of a process is its log', async () => {
  const process = start(dir, { name: 'talker', argv: ['sh', '-c', 'echo one; echo two >&2; exit 3'], env });
  expect(await process.ended).toEqual({ exitCode: 3, words: 'ended with exit code 3' });
  expect(readFileSync(logFile(dir, 'talker'), 'utf8')).toBe('one\ntwo\n');
  expect(lastLines(dir, 'talker', 1)).toEqual(['two']);
  expect(logNames(dir)).toContain('talker');
});

test.each([
  ['panic: disk full'],
  ['fatal error: out of memory'],
  ['F1116 05:00:00.000000 1 server.go:1] no space left on device'],
  ['{"level":"fatal","msg":"failed to open the database"}'],
])('the cause of a death is told, not the trace behind it: %s', (cause) => {
  const trace = Array.from({ length: 30 }, (_, at) => `main.call${at}()\n\t/src/main.go:${at}`);
  const text = ['before', cause, '', 'goroutine 1 [running]:', ...trace, '', 'goroutine 7 [select]:', ...trace];
  writeFileSync(logFile(dir, 'dead'), `${text.join('\n')}\n`);
  expect(lastLines(dir, 'dead')).toEqual(['before', cause]);
});

test('arguments arrive as they are, whatever a shell would make of them', async () => {
  const words = ['a b', '$HOME', '"', "'", '*', ''];
  const process = start(dir, { name: 'words', argv: ['printf', '%s\n', ...words], env });
  await process.ended;
  expect(readFileSync(logFile(dir, 'words'), 'utf8')).toBe(words.map((word) => `${word}\n`).join(''));
});

test('a process that does not listen to SIGTERM is killed after the grace, with its children', async () => {
  const script = 'trap "" TERM; sleep 600 & echo $!; while :; do sleep 600; done';
  const process = start(dir, { name: 'stubborn', argv: ['sh', '-c', script], env });
  const child = await until(() => Number(lastLines(dir, 'stubborn', 1)[0]) || undefined, { what: 'its child' });
  await end(process.identity, 50);
  expect(isAlive(process.identity)).toBe(false);
  await until(() => identityOf(child) === undefined, { what: 'its child being gone' });
});

test('a process that only has the pid of a recorded one is left alone', async () => {
  const stranger = spawn('sleep', ['600']);
  const identity = identityOf(stranger.pid ?? 0);
  if (!identity) throw new Error('the stranger is not seen');
  await end({ ...identity, startedAt: 'long ago' }, 1000);
  await end({ ...identity, command: 'etcd' }, 0);
  expect(isAlive(identity)).toBe(true);
  stranger.kill('SIGKILL');
});
