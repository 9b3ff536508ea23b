import { expect, test } from 'vitest';
import { AGENT_OPTIONS } from '../../config/options/agent.ts';
import { rowsOf } from '../../config/options/option-table.ts';
import { runCli } from '../cli.ts';
import { redisAgentHelp } from '../help.ts';

async function run(argv: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const out = { stdout: '', stderr: '' };
  const code = await runCli(argv, {
    env,
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

test('without a program, or with one that it does not know, it says which there are', async () => {
  expect(await run(['agent'])).toMatchObject({ code: 2, stderr: expect.stringMatching(/for which program: redis/) });
  expect(await run(['agent', 'mysql'])).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/there is no agent for "mysql"[\s\S]*\n {2}redis /),
  });
  expect(await run(['agent', '--help'])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('attune agent redis'),
  });
});

test('every option is explained', () => {
  const text = redisAgentHelp({ width: 100, colour: false });
  for (const [name, { flag, env, doc }] of rowsOf(AGENT_OPTIONS)) {
    if (flag !== undefined) expect(text, name).toMatch(new RegExp(`^  --${flag}\\b`, 'm'));
    if (env !== undefined) expect(text, name).toMatch(new RegExp(`\\b${env}$`, 'm'));
    expect(text.replace(/\s+/g, ' ')).toContain(doc);
  }
});

test('help needs no names and no cluster', async () => {
  const { code, stdout } = await run(['agent', 'redis', '--help']);
  expect([code, stdout]).toEqual([0, expect.stringContaining('--stop-timeout duration')]);
  // Clients of a primary that becomes a replica are cut.
  expect(stdout.slice(0, stdout.indexOf('Usage'))).not.toMatch(/connection/);
});

test('all problems at once, and the exit code is 1', async () => {
  const { code, stderr } = await run(['agent', 'redis', '--mode', 'both', '--role', 'sentinel']);
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /--mode must be.*\n.*--cluster-name.*\n.*--pod-name.*\n.*--pod-namespace.*\n.*--role=sentinel/,
  );
});

test.each([
  [['--mode', 'sidecar', 'agent', 'redis']],
  [['agent', '--data-dir', 'redis', 'redis']],
  [['agent', 'redis', '--role', 'data']],
])('%j: values of flags are no commands', async (argv) => {
  expect((await run(argv)).stderr).toContain('Usage: attune agent redis');
});

test('without a way to the API server it says so', async () => {
  const env = { CLUSTER_NAME: 'redis', POD_NAME: 'redis-0', POD_NAMESPACE: 'shop', HOME: '/nowhere' };
  expect(await run(['agent', 'redis'], env)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('no way to the API server'),
  });
});
