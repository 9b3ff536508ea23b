import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { identityOf } from '../../runtime/process-identity.ts';
import { BINARY_NAMES } from '../../sandbox/binaries/projects.ts';
import { sandboxFolder } from '../../sandbox/folders.ts';
import { startSandbox } from '../../sandbox/sandbox.ts';
import { writeStateFile } from '../../sandbox/state-file.ts';
import { run as runSandbox } from './sandbox.ts';

const home = mkdtempSync(join(tmpdir(), 'attune-command-'));
afterAll(() => rmSync(home, { recursive: true }));

const run = (...argv: readonly string[]) => runIn({ HOME: home }, { argv });

async function runIn(
  env: Readonly<Record<string, string>>,
  { argv, signal = new AbortController().signal }: { readonly argv: readonly string[]; readonly signal?: AbortSignal },
) {
  let stdout = '';
  let stderr = '';
  const code = await runSandbox(argv, {
    env,
    stdout: (text) => {
      stdout += text;
    },
    stderr: (text) => {
      stderr += text;
    },
    signal,
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
  [['up', '--nodes='], '--nodes must be a number like 3, not ""'],
  [['up', '--api-only', '--nodes', '2'], '--api-only starts no nodes'],
  [['up', '--keep=maybe'], '--keep must be true or false'],
  [['up', '--api-onyl'], 'did you mean --api-only?'],
  [['stauts'], 'did you mean status?'],
  [['constructor'], '"constructor" is not a command'],
  [['up', 'review'], 'did you mean --name review?'],
  [['down', 'review'], 'did you mean --name review?'],
  [['status', 'review'], 'did you mean --name review?'],
  [['env', 'review'], 'did you mean --name review?'],
  [['logs', 'etcd', 'kwok'], 'one part at a time'],
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

test('how to get a sandbox includes its name', async () => {
  const { stderr } = await run('env', '--name', 'review');
  expect(stderr).toContain('start it with: attune sandbox up --name review\n');
});

describe('a sandbox whose only part is another program', () => {
  const dir = sandboxFolder({ HOME: home }, 'default');
  const assets = join(home, 'assets');
  mkdirSync(assets);
  for (const name of BINARY_NAMES) writeFileSync(join(assets, name), '', { mode: 0o755 });
  const part = spawn('sleep', ['600']);
  afterAll(() => part.kill());

  test('up --keep is heeded, and what is not is named', async () => {
    writeStateFile(dir, { name: 'default', server: 'https://127.0.0.1:1', owner: undefined, keep: false, ready: true });
    mkdirSync(join(dir, 'processes'));
    writeFileSync(join(dir, 'processes', 'etcd.json'), JSON.stringify(identityOf(part.pid ?? 0)));
    const up = await run('up', '--keep', '--nodes', '3', '--binaries', assets);
    expect(up).toMatchObject({ code: 0, stdout: expect.stringMatching(/is up already; its data will be kept/) });
    expect(up.stderr).toContain('without effect on a sandbox that is up: --nodes, --binaries');
    expect(await run('up', '--binaries', assets)).toMatchObject({ stdout: expect.not.stringContaining('kept') });
    expect((await run('env')).stderr).toBe('');
  });

  test('redis that is stopped says that the sandbox stays, and how to end it', async () => {
    // The pod runner runs already, as far as one can see, and the server does not answer.
    writeFileSync(join(dir, 'processes', 'pods.json'), JSON.stringify(identityOf(part.pid ?? 0)));
    writeFileSync(join(assets, 'redis-server'), '', { mode: 0o755 });
    const env = { HOME: home, PATH: assets };
    const word = 'the sandbox default stays up; attune sandbox down ends it and removes everything\n';
    const stopped = await runIn(env, { argv: ['redis'], signal: AbortSignal.abort() });
    expect(stopped).toMatchObject({ code: 130, stdout: '', stderr: expect.stringContaining(word) });
    const failed = await runIn(env, { argv: ['redis'] });
    expect(failed).toMatchObject({ code: 1, stderr: expect.not.stringContaining('stays up') });
  });

  test('env warns when it has died', async () => {
    part.kill();
    await once(part, 'exit');
    const { code, stdout, stderr } = await run('env');
    expect({ code, stdout }).toEqual({ code: 0, stdout: `export KUBECONFIG='${dir}/kubeconfig'\n` });
    expect(stderr).toContain('the sandbox default is not up (broken); attune sandbox status tells more');
  });

  test('down keeps the data', async () => {
    mkdirSync(join(dir, 'etcd'));
    expect((await run('down')).stdout).toBe('the sandbox default is down; its data is kept\n');
    expect(readdirSync(dir)).toContain('etcd');
  });
});

test('a name that cannot be a folder is refused', async () => {
  const { code, stderr } = await run('up', '--name', '../elsewhere');
  expect(code).toBe(1);
  expect(stderr).toContain('not "../elsewhere"');
});

test('where nothing can be written, up and down say what to do', async () => {
  const env = { XDG_STATE_HOME: '/dev/null', HOME: home };
  const words = '/dev/null/attune/sandbox is not writable; set XDG_STATE_HOME';
  expect(await runIn(env, { argv: ['down'] })).toMatchObject({ code: 1, stderr: `attune sandbox: ${words}\n` });
  await expect(startSandbox({ name: 'default', env }, () => {})).rejects.toThrow(words);
});
