import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../../../test/support/wait.ts';
import { identityOf } from '../../runtime/process-identity.ts';
import { goBuild } from './go-build.ts';
import { buildOutput, listOutput } from './go-output.ts';

const KWOK = 'sigs.k8s.io/kwok/cmd/kwok';

/** As much of the go command as we see of it: what it prints, where it writes, and that compilers are its children. */
const GO = `#!/bin/sh
if [ "$1" = list ]; then
  echo 'go: downloading k8s.io/api v0.36.3' >&2
  printf '%s\\n' fmt k8s.io/api ${KWOK}
  exit
fi
echo k8s.io/api >&2
touch "$GOTMPDIR/half"
if [ -n "$HANG" ]; then
  sleep 600 &
  echo $! $$ >"$HANG.new" && mv "$HANG.new" "$HANG"
  trap '' TERM INT HUP
  while :; do wait; done
fi
echo ${KWOK} >&2
while [ "$1" != -o ]; do shift; done
echo program >"$2"
`;

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'attune-go-'));
  for (const folder of ['bin', 'modules/kwok', 'cache']) mkdirSync(join(dir, folder), { recursive: true });
  writeFileSync(join(dir, 'bin', 'go'), GO, { mode: 0o755 });
  writeFileSync(join(dir, 'modules', 'kwok', 'go.mod'), 'module x\n');
});
afterEach(() => rmSync(dir, { recursive: true }));

const options = (hang?: string) => ({
  modules: join(dir, 'modules'),
  env: { PATH: `${join(dir, 'bin')}:/usr/bin:/bin`, ...(hang ? { HANG: hang } : {}) },
});
const cache = () => join(dir, 'cache');
const hanging = () => join(dir, 'pids');

/** The pids of a compiler and of the go command that runs it. */
const pids = () =>
  until(() => existsSync(hanging()) && readFileSync(hanging(), 'utf8').trim().split(' ').map(Number), {
    what: 'a compiler at work',
  });

const gone = (all: readonly number[]) =>
  until(() => all.every((pid) => identityOf(pid) === undefined), { what: `the end of ${all.join(' and ')}` });

test('says what it does at every step, and leaves the program alone behind', async () => {
  const states: string[] = [];
  await goBuild('kwok', ['kwok'], cache(), { ...options(), showStatus: (status) => states.push(status) });
  expect(states).toEqual([
    'looking at its sources',
    'loading its sources, module 1: k8s.io/api',
    'compiling, 3 packages at most',
    'compiling, package 1 of at most 3: k8s.io/api',
    'linking, 2 packages are compiled',
  ]);
  expect(readdirSync(cache())).toEqual(['kwok']);
  expect(readFileSync(join(cache(), 'kwok'), 'utf8')).toBe('program\n');
});

test('whoever calls it off leaves no compiler and no file', async () => {
  const stop = new AbortController();
  const building = goBuild('kwok', ['kwok'], cache(), {
    ...options(hanging()),
    showStatus: () => {},
    signal: stop.signal,
  });
  building.catch(() => {});
  const all = await pids();
  stop.abort(new Error('enough'));
  await expect(building).rejects.toThrow('enough');
  await gone(all);
  expect(readdirSync(cache())).toEqual([]);
});

/** Another program that builds, and hangs in it. */
function builder(end = '') {
  const script = `
    import { goBuild } from './go-build.ts';
    const options = ${JSON.stringify(options(hanging()))};
    process.on('SIGUSR2', () => { ${end} });
    await goBuild('kwok', ['kwok'], ${JSON.stringify(cache())}, { ...options, showStatus: () => {} });`;
  const argv = ['--input-type=module-typescript', '-e', script];
  return spawn(process.execPath, argv, { cwd: import.meta.dirname, stdio: 'ignore' });
}

test.each([
  ['exits', 'process.exit(3);'],
  ['throws what nobody catches', 'throw new Error("no");'],
])('a program that %s takes the compilers with it, and their files', async (_, end) => {
  const program = builder(end);
  const all = await pids();
  program.kill('SIGUSR2');
  await once(program, 'exit');
  await gone(all);
  expect(readdirSync(cache())).toEqual([]);
});

test('after kill -9 the compilers go too, and the next one clears up', async () => {
  const program = builder();
  const all = await pids();
  program.kill('SIGKILL');
  await once(program, 'exit');
  await gone(all);
  await goBuild('kwok', ['kwok'], cache(), { ...options(), showStatus: () => {} });
  expect(readdirSync(cache())).toEqual(['kwok']);
});

test('several programs are linked when the last of them has come', () => {
  const states: string[] = [];
  const { line } = buildOutput(['a/one', 'a/two'], 9, (status) => states.push(status));
  for (const text of ['a/lib', 'a/one', 'go: downloading b v1', 'a/two']) line(text);
  expect(states.slice(1)).toEqual([
    'compiling, package 1 of at most 9: a/lib',
    'compiling, package 2 of at most 9: a/one',
    'loading its sources: b',
    'linking, 3 packages are compiled',
  ]);
});

test('only packages are counted, not what is loaded for them', () => {
  const { line, packages } = listOutput(() => {});
  for (const text of ['go: downloading a v1', 'fmt', 'a', 'go: downloading b v1', 'b']) line(text);
  expect(packages()).toBe(3);
});
