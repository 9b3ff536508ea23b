import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { until } from '../../../test/support/wait.ts';
import { identityOf, isAlive } from '../../runtime/process-identity.ts';
import { daemonsIn, removePidFile, startDaemon, terminate } from './daemon.ts';
import { lastLines, logFile, logNames } from './process-logs.ts';

const dir = mkdtempSync(join(tmpdir(), 'attune-daemon-'));
afterAll(() => rmSync(dir, { recursive: true }));
const env = { PATH: '/usr/bin:/bin' };

test('a process has a pid file of its name, which identifies this process and no other', async () => {
  const process = startDaemon(dir, { name: 'sleeper', argv: ['sleep', '600'], env });
  expect(daemonsIn(dir).get('sleeper')).toEqual(process.identity);
  expect(isAlive(process.identity)).toBe(true);
  await until(() => identityOf(process.identity.pid)?.command === 'sleep 600', { what: 'the launcher being replaced' });
  expect(isAlive(process.identity)).toBe(true);
  await terminate(process.identity, 0);
  expect(isAlive(process.identity)).toBe(false);
  expect(await process.ended).toEqual({ exitCode: 137, description: 'was ended by SIGKILL' });
  removePidFile(dir, 'sleeper');
  expect(daemonsIn(dir).has('sleeper')).toBe(false);
});

test('the output of a process is its log', async () => {
  const process = startDaemon(dir, { name: 'talker', argv: ['sh', '-c', 'echo one; echo two >&2; exit 3'], env });
  expect(await process.ended).toEqual({ exitCode: 3, description: 'ended with exit code 3' });
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
  const process = startDaemon(dir, { name: 'words', argv: ['printf', '%s\n', ...words], env });
  await process.ended;
  expect(readFileSync(logFile(dir, 'words'), 'utf8')).toBe(words.map((word) => `${word}\n`).join(''));
});

test('a process that does not listen to SIGTERM is killed after the grace, with its children', async () => {
  const script = 'trap "" TERM; sleep 600 & echo $!; while :; do sleep 600; done';
  const process = startDaemon(dir, { name: 'stubborn', argv: ['sh', '-c', script], env });
  const child = await until(() => Number(lastLines(dir, 'stubborn', 1)[0]) || undefined, { what: 'its child' });
  await terminate(process.identity, 50);
  expect(isAlive(process.identity)).toBe(false);
  await until(() => identityOf(child) === undefined, { what: 'its child being gone' });
});

test('a process that only has the pid of a daemon is left alone', async () => {
  const stranger = spawn('sleep', ['600']);
  const identity = identityOf(stranger.pid ?? 0);
  if (!identity) throw new Error('the stranger is not seen');
  await terminate({ ...identity, startedAt: 'long ago' }, 1000);
  await terminate({ ...identity, command: 'etcd' }, 0);
  expect(isAlive(identity)).toBe(true);
  stranger.kill('SIGKILL');
});
