import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { identityOf } from '../../runtime/process-identity.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'attune-exit-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

/** A program of a few lines beside the modules of the sandbox. */
function run(script: string) {
  const { stdout, status } = spawnSync(process.execPath, ['--input-type=module-typescript', '-e', script], {
    cwd: import.meta.dirname,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return { stdout, status };
}

const say = (word: string) => `() => process.stdout.write('${word} ')`;
const IMPORT = `import { onExit } from './exit-hooks.ts';`;

test.each([
  ['ends', '', 0],
  ['exits', 'process.exit(130);', 130],
  ['throws what nobody catches', 'setTimeout(() => { throw new Error("no"); }, 1);', 1],
  ['fails where nobody waits', 'Promise.reject(new Error("no"));', 1],
])('all hooks run, the newest first, when a program %s', (_, end, status) => {
  const script = `${IMPORT} onExit(${say('first')}); onExit(() => { throw 1; }); onExit(${say('last')}); ${end}`;
  expect(run(script)).toEqual({ stdout: 'last first ', status });
});

test.each(['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'])('%s does not interrupt the hooks', (signal) => {
  const signals = `() => process.kill(process.pid, '${signal}')`;
  expect(run(`${IMPORT} onExit(${say('done')}); onExit(${signals});`)).toEqual({ stdout: 'done ', status: 0 });
});

test('a hook that was removed does not run', () => {
  const script = `${IMPORT} const remove = onExit(${say('never')}); onExit(${say('done')}); remove(); remove();`;
  expect(run(script).stdout).toBe('done ');
});

test('a lock is released', () => {
  const script = `
    import { withLock } from '../lock.ts';
    const path = ${JSON.stringify(join(dir, 'it.lock'))};
    await withLock(path, { onWait: () => {} }, async () => process.exit(3));`;
  expect(run(script).status).toBe(3);
  expect(readdirSync(dir)).toEqual([]);
});

/** A program with a sandbox in `dir`/x, and one process of it that ignores signals. */
const withSandbox = (owner: string) => `
  import { onExit } from './exit-hooks.ts';
  import { ownIdentity } from '../../runtime/process-identity.ts';
  import { startDaemon } from './daemon.ts';
  import { removeOwnSandboxSync } from '../remove-sandbox.ts';
  import { writeStateFile } from '../state-file.ts';
  const dir = ${JSON.stringify(join(dir, 'x'))};
  writeStateFile(dir, { name: 'x', server: undefined, owner: ${owner}, keep: false, ready: false });
  const script = 'trap "" TERM INT HUP; echo ready; while :; do sleep 600; done';
  const { identity } = startDaemon(dir, { name: 'etcd', argv: ['sh', '-c', script], env: { PATH: process.env.PATH } });
  process.stdout.write(String(identity.pid));
  onExit(() => removeOwnSandboxSync(dir, false));
  process.exit(0);`;

test('a sandbox of this process is removed, with processes that ignore signals', () => {
  const { stdout } = run(withSandbox('ownIdentity()'));
  expect(Number(stdout)).toBeGreaterThan(0);
  expect(identityOf(Number(stdout))).toBeUndefined();
  expect(readdirSync(dir)).toEqual([]);
});

test('a sandbox that is not of this process is left alone', () => {
  const { stdout } = run(withSandbox('undefined'));
  const pid = Number(stdout);
  expect(identityOf(pid)).toBeDefined();
  process.kill(-pid, 'SIGKILL');
  expect(readdirSync(dir)).toEqual(['x']);
});
