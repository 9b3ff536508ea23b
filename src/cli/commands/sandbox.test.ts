import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { runSandbox } from './sandbox.ts';

const home = mkdtempSync(join(tmpdir(), 'attune-command-'));
afterAll(() => rmSync(home, { recursive: true }));

async function run(...argv: readonly string[]) {
  let stdout = '';
  let stderr = '';
  const code = await runSandbox(argv, {
    env: { HOME: home },
    stdout: (text) => {
      stdout += text;
    },
    stderr: (text) => {
      stderr += text;
    },
    signal: new AbortController().signal,
    terminal: {},
  });
  return { code, stdout, stderr };
}

test.each([[[]], [['help']], [['--help']], [['up', '-h']]])('%j tells what there is', async (argv) => {
  const { code, stdout } = await run(...argv);
  expect(code).toBe(0);
  expect(stdout).toContain('attune sandbox kubectl');
});

test.each([
  [['fly'], '"fly" is not a command'],
  [['up', '--fast'], '--fast'],
  [['up', '--nodes', 'many'], '--nodes must be a number like 3, not "many"'],
  [['up', '--nodes', '-1'], '--nodes'],
])('%j is refused with a reason', async (argv, reason) => {
  const { code, stderr } = await run(...argv);
  expect(code).toBe(2);
  expect(stderr).toContain(reason);
});

test.each([
  [['status'], 'there is none'],
  [['down'], 'there is no sandbox default'],
])('%j copes with nothing', async (argv, words) => {
  expect((await run(...argv)).stdout).toContain(words);
});

test.each([[['env']], [['logs']], [['kubectl', 'get', '--help']]])(
  '%j needs a sandbox and says how to get one',
  async (argv) => {
    const { code, stderr } = await run(...argv);
    expect(code).toBe(1);
    expect(stderr).toContain('there is no sandbox default; start it with: attune sandbox up');
  },
);

test('a name that cannot be a folder is refused', async () => {
  const { code, stderr } = await run('up', '--name', '../elsewhere');
  expect(code).toBe(1);
  expect(stderr).toContain('not "../elsewhere"');
});
