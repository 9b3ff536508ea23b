import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { listOf, scriptedApi } from '../../test/support/scripted-api.ts';
import { kubeconfig, testFolder } from '../../test/support/test-folder.ts';

const main = fileURLToPath(new URL('../main.ts', import.meta.url));
const folder = testFolder('start');
const WORKLOADS = 3000;

const template = { spec: { containers: [{ name: 'main', envFrom: [{ configMapRef: { name: 'app' } }] }] } };
const deployments = Array.from({ length: WORKLOADS }, (_, n) => ({
  metadata: { namespace: 'shop', name: `web-${n}`, uid: `${n}`, resourceVersion: '1' },
  spec: { selector: {}, template },
}));
const api = await scriptedApi(({ path, json }) => {
  json(200, listOf(path.endsWith('/deployments') ? deployments : [], '1'));
});
afterAll(() => api[Symbol.asyncDispose]());

const PROGRAM = [main, 'impact', 'configmap/app', '-n', 'shop', '--log-level=info', '-o', 'json'];
const env = async () => ({ KUBECONFIG: await folder.file('kubeconfig', kubeconfig(api.connection.server.origin)) });

/** Several times as much as a pipe holds, in a shell that says how the program ended. */
async function piped(to: string) {
  const command = `{ "$0" "$@"; echo "ended with $?" >&2; } ${to}`;
  const shell = spawn('sh', ['-c', command, process.execPath, ...PROGRAM], { env: await env() });
  const [stdout, stderr] = await Promise.all([text(shell.stdout), text(shell.stderr), once(shell, 'exit')]);
  return { stdout, stderr };
}

test('a pipe is given everything, however much that is', async () => {
  const { stdout, stderr } = await piped('| cat');
  expect(JSON.parse(stdout).workloads).toHaveLength(WORKLOADS);
  expect(stderr).toBe('ended with 0\n');
});

test.each([
  ['a reader that has had enough', '| head -n 1', 'ended with 0\n'],
  ['no reader at all', '>&-', 'ended with 0\n'],
])('%s is no reason to stay', async (_, to, said) => {
  expect((await piped(to)).stderr).toBe(said);
});

test('nor is a reader that takes nothing, once the user has had enough', async () => {
  const program = spawn(process.execPath, PROGRAM, { env: await env() });
  await once(program.stdout, 'readable');
  program.kill('SIGINT');
  expect(await once(program, 'exit')).toEqual([130, null]);
});
