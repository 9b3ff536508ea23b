import { expect, it } from 'vitest';
import type { Io } from '../terminal/io.ts';
import { run as install } from './install.ts';
import { run as status } from './status.ts';
import { run as uninstall } from './uninstall.ts';

async function told(run: typeof install, ...argv: readonly string[]) {
  const texts = { stdout: '', stderr: '' };
  const io: Io = {
    env: { KUBECONFIG: '/nowhere' },
    stdout: (text) => {
      texts.stdout += text;
    },
    stderr: (text) => {
      texts.stderr += text;
    },
    signal: new AbortController().signal,
    terminal: {},
  };
  return { code: await run(argv, io), ...texts };
}

it.each([
  ['install', install],
  ['uninstall', uninstall],
  ['status', status],
])('%s tells what it does, and refuses what it does not understand', async (name, run) => {
  const help = await told(run, '--help');
  expect(help).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining(`attune admission ${name} `) });
  expect(await told(run, 'junk', '--nonsense', '--admission-cert-life=1s')).toEqual({
    code: 2,
    stdout: '',
    stderr: expect.stringMatching(
      /nonsense(.*\n)*.*admission-cert-life must be 60s(.*\n)*.*only flags are understood here/,
    ),
  });
});

it('each knows its formats', async () => {
  expect(await told(install, '-o', 'json')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('-o is for --dry-run'),
  });
  expect((await told(install, '--dry-run', '-o', 'xml')).stderr).toContain('-o knows json and yaml, not xml');
  expect((await told(status, '-o', 'yaml')).stderr).toContain('-o knows json, not yaml');
});
