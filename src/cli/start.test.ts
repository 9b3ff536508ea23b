import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { listOf, scriptedApi } from '../../test/support/scripted-api.ts';
import { writeKubeconfig } from '../sandbox/control-plane/write-kubeconfig.ts';

const main = fileURLToPath(new URL('../main.ts', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'attune-start-'));
const kubeconfig = join(folder, 'kubeconfig');
const WORKLOADS = 1000;

const template = { spec: { containers: [{ name: 'main', envFrom: [{ configMapRef: { name: 'app' } }] }] } };
const deployments = Array.from({ length: WORKLOADS }, (_, n) => ({
  metadata: { namespace: 'default', name: `web-${n}`, uid: `${n}`, resourceVersion: '1' },
  spec: { selector: {}, template },
}));
const api = await scriptedApi(({ path, json }) => {
  json(200, listOf(path.endsWith('/deployments') ? deployments : [], '1'));
});
writeKubeconfig(kubeconfig, 'test', { server: api.connection.server.origin, authority: '', token: 'test' });
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await api[Symbol.asyncDispose]();
});

/** Several times as much as a pipe holds, in a shell that says how the program ended. */
async function piped(to: string) {
  const command = `{ "$0" "$@"; echo "ended with $?" >&2; } ${to}`;
  const program = [process.execPath, main, 'impact', 'configmap/app', '--log-level=info', '-o', 'json'];
  const shell = spawn('sh', ['-c', command, ...program], {
    env: { KUBECONFIG: kubeconfig },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
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
