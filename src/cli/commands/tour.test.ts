import { expect, test } from 'vitest';
import { runCli } from '../cli.ts';

async function run(...argv: readonly string[]) {
  const out = { stdout: '', stderr: '' };
  const code = await runCli(argv, {
    env: { PATH: '/nowhere', HOME: '/nowhere' },
    stdout: (text) => {
      out.stdout += text;
    },
    stderr: (text) => {
      out.stderr += text;
    },
    signal: new AbortController().signal,
    terminal: {},
  });
  return { code, ...out };
}

test.each([
  [['tour', 'kafka'], 'a tour of redis, none of "kafka"'],
  [['tour', 'redis', 'twice'], 'none of "redis twice"'],
  [['tour', '--twice'], '--twice'],
])('%j is refused, and nothing is started', async (argv, words) => {
  expect(await run(...argv)).toMatchObject({ code: 2, stderr: expect.stringContaining(words) });
});

test('help tells of both tours', async () => {
  expect(await run('tour', 'redis', '--help')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('attune tour [redis]'),
  });
});

test.each([[['tour', 'redis', '--once']], [['sandbox', 'redis']]])(
  '%j without redis-server says so before anything is started',
  async (argv) => {
    expect(await run(...argv)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('redis-server is not in the PATH'),
    });
  },
);
