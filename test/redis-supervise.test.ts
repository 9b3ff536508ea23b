import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { testFolder } from './support/test-folder.ts';
import { until } from './support/wait.ts';

const folder = testFolder('supervise');
const script = join(import.meta.dirname, '../scripts/redis-supervise.sh');
const living: ChildProcess[] = [];

afterEach(() => {
  for (const { pid } of living.splice(0)) {
    try {
      process.kill(-(pid ?? 0), 'SIGKILL');
    } catch {
      // Nobody is left.
    }
  }
});

/** Each run of the agent leaves its pid as a line. */
const runs = (): readonly number[] => {
  const file = join(folder.path, 'runs');
  return existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n').map(Number) : [];
};
const run = (number: number): Promise<number> =>
  until(() => runs()[number - 1], { what: `run ${number} of the agent`, deadlineMs: 20_000 });

function supervise(...command: readonly string[]) {
  const shell = spawn('dash', [script, ...command], { cwd: folder.path, detached: true, stdio: 'ignore' });
  living.push(shell);
  const exit = once(shell, 'exit').then(([code]) => code as number | null);
  return { exit, signal: (name: NodeJS.Signals) => shell.kill(name) };
}

const ending = (code: number) => supervise('sh', '-c', `echo $$ >> runs; exit ${code}`);

/** An agent that takes a moment to end when it is asked to. */
const AGENT = `
  const { appendFileSync } = require('node:fs');
  const note = (text) => appendFileSync('signals', text + '\\n');
  process.on('SIGTERM', () => { note('TERM'); setTimeout(() => process.exit(5), 50); });
  process.on('SIGINT', () => { note('INT'); setTimeout(() => process.exit(6), 50); });
  appendFileSync('runs', process.pid + '\\n');
  setInterval(() => {}, 1000);`;
/** Ends only at the second time that it is told. */
const STUBBORN = `
  const { appendFileSync, existsSync, writeFileSync } = require('node:fs');
  process.on('SIGTERM', () => { if (existsSync('signals')) process.exit(5); appendFileSync('signals', 'TERM'); });
  writeFileSync('ready', '');
  setInterval(() => {}, 1000);`;
const agent = () => supervise(process.execPath, '-e', AGENT);

describe('an end that is meant', () => {
  test.each([0, 1, 3, 127])('code %i is its own code', async (code) => {
    expect(await ending(code).exit).toBe(code);
    expect(runs()).toHaveLength(1);
  });

  test('arguments arrive as they are', async () => {
    expect(await supervise('sh', '-c', 'test "$1" = "a  b" && test "$2" = "" && exit 9', 'sh', 'a  b', '').exit).toBe(
      9,
    );
  });

  test.each([
    ['SIGTERM', 5],
    ['SIGINT', 6],
  ] as const)('%s is passed on, once, and its code waited for', async (name, code) => {
    const { exit, signal } = agent();
    await run(1);
    signal(name);
    expect(await exit).toBe(code);
    expect(readFileSync(join(folder.path, 'signals'), 'utf8')).toBe(`${name.slice(3)}\n`);
    expect(runs()).toHaveLength(1);
  });

  test('an agent that dies of the signal, as one that has only begun, is followed by one that takes it', async () => {
    const { exit, signal } = supervise(
      'sh',
      '-c',
      'echo $$ >> runs; [ "$(wc -l < runs)" -gt 1 ] || exec sleep 600; exec "$@"',
      'sh',
      process.execPath,
      '-e',
      AGENT,
    );
    await run(1);
    signal('SIGTERM');
    expect(await exit).toBe(5);
    expect(readFileSync(join(folder.path, 'signals'), 'utf8')).toBe('TERM\n');
  });

  test('nor is one that is killed while it stops Redis the last', async () => {
    const { exit, signal } = supervise(
      'sh',
      '-c',
      'echo $$ >> runs; exec "$@"',
      'sh',
      process.execPath,
      '-e',
      STUBBORN,
    );
    const first = await run(1);
    await until(() => existsSync(join(folder.path, 'ready')), { what: 'its handler' });
    signal('SIGTERM');
    await until(() => existsSync(join(folder.path, 'signals')), { what: 'the signal' });
    process.kill(first, 'SIGKILL');
    expect(await exit).toBe(5);
  });
});

describe('an end that is not', () => {
  test('killed: it is started again at once, and still gets signals', async () => {
    const { exit, signal } = agent();
    const first = await run(1);
    process.kill(first, 'SIGKILL');
    expect(await run(2)).not.toBe(first);
    signal('SIGTERM');
    expect(await exit).toBe(5);
  });

  test('70, again and again: until a signal ends it', async () => {
    const { exit, signal } = ending(70);
    await run(3);
    signal('SIGTERM');
    expect(await exit).toBe(70);
  });
});
