import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { env, pid } from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { inspectSandbox } from '../../../src/sandbox/inspect.ts';
import { volumesFolder } from '../../../src/sandbox/pods/pod-volumes.ts';
import { logFile } from '../../../src/sandbox/processes/process-logs.ts';
import { daemonsWorkingIn } from '../../../src/sandbox/processes/processes-in.ts';
import { type Program, runProgram } from '../../support/sandbox.ts';
import { until } from '../../support/wait.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const run = promisify(execFile);
const newName = () => `redis-${pid}-${randomBytes(3).toString('hex')}`;
const attune = (...argv: readonly string[]) => run(`${ROOT}attune`, argv, { cwd: ROOT, timeout: 120_000 });
const tour = (name: string, ...flags: string[]) =>
  runProgram([`${ROOT}attune`, 'tour', 'redis', '--name', name, ...flags]);

const untilLine = ({ lines, ended }: Program, pattern: RegExp) => {
  const early = ended.then((code) => Promise.reject(new Error(`ended with ${code}:\n${lines.join('\n')}`)));
  early.catch(() => {});
  const seen = until(() => lines.find((line) => pattern.test(line)), { what: String(pattern), deadlineMs: 120_000 });
  return Promise.race([seen, early]);
};

it('memory, password and certificate change under load without a failed command, and nothing is left behind', async () => {
  const name = newName();
  const program = tour(name, '--once');
  await untilLine(program, /clients by two users send commands/);
  const folder = volumesFolder(inspectSandbox(env, name)?.dir ?? '');
  // Besides a Redis there may be its child that writes a dump.
  expect(daemonsWorkingIn(folder).length).toBeGreaterThanOrEqual(3);
  expect(await program.ended, program.lines.join('\n')).toBe(0);
  expect(program.lines).toContainEqual(expect.stringMatching(/ commands: 0 failed commands, 0 lost connections/));
  expect(daemonsWorkingIn(folder)).toEqual([]);
  expect(inspectSandbox(env, name)).toBeUndefined();
});

it('sandbox redis: every command that it prints works, and the data stay when a pod goes', async () => {
  const name = newName();
  onTestFinished(async () => void (await attune('sandbox', 'down', '--name', name)));
  const { stdout } = await attune('sandbox', 'redis', '--name', name);
  const printed = stdout.split('\n').flatMap((line) => (/^ {4}\S/.test(line) ? line.trim() : []));
  const client = printed.find((line) => line.includes('redis-cli')) ?? '';
  const commands = printed.filter((line) => line !== client);
  expect(commands.length).toBeGreaterThan(5);
  const shell = (command: string) => run('/bin/sh', ['-c', command], { cwd: ROOT, timeout: 60_000 });
  expect((await shell(`${client} SET mine yes`)).stdout).toContain('OK');
  for (const command of commands) {
    // What is wrong with a setting is told by the exit code.
    await shell(command).catch((error: unknown) => expect(String(error)).toContain('redis status'));
  }
  const status = ['redis', 'status', 'redis', '-n', 'redis', `--sandbox=${name}`];
  const told = (words: RegExp) =>
    until(
      async () =>
        words.test(
          await attune(...status).then(
            (done) => done.stdout,
            (error) => error.stdout,
          ),
        ),
      {
        what: String(words),
      },
    );
  await told(/refused +hz many/);
  await told(/restart +io-threads 2/);
  const kubectl = (...words: readonly string[]) =>
    attune('sandbox', '--name', name, 'kubectl', '-n', 'redis', ...words);
  const { dir = '' } = inspectSandbox(env, name) ?? {};
  const loads = () => readFileSync(logFile(dir, 'pod.redis.redis-2.redis'), 'utf8').split('DB loaded from').length;
  const before = loads();
  await kubectl('delete', 'pod', 'redis-2');
  await until(() => loads() > before, { what: 'a new pod that loads the data of the one that went' });
  await attune('sandbox', 'down', '--name', name);
  expect(daemonsWorkingIn(volumesFolder(dir))).toEqual([]);
});
