import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { env, execPath } from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, expect, test } from 'vitest';
import { identityOf, isAlive } from '../../../src/runtime/process-identity.ts';
import { findBinaries } from '../../../src/sandbox/binaries/binaries.ts';
import { daemonsIn } from '../../../src/sandbox/processes/daemon.ts';
import { SOURCES } from '../../support/programs.ts';
import { api, ownControlPlane, type Program, runProgram } from '../../support/sandbox.ts';
import { rounds } from '../../support/soak.ts';
import { until } from '../../support/wait.ts';

// A place of its own, so that nothing here meets the sandboxes of others. Longer than the path of a socket may be.
const state = mkdtempSync(join(tmpdir(), `attune-lifecycle-${'long-'.repeat(20)}`));
const folder = (name: string) => join(state, 'attune', 'sandbox', name);

const sandbox = (...args: readonly string[]): Program =>
  runProgram([execPath, SOURCES, 'sandbox', ...args], { XDG_STATE_HOME: state });

async function succeed(...args: readonly string[]): Promise<string> {
  const program = sandbox(...args);
  const code = await program.ended;
  const text = program.lines.join('\n');
  expect(code, text).toBe(0);
  return text;
}

/** Processes that have anything of this test in their command line. */
function strays(): readonly string[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .flatMap((pid) => identityOf(Number(pid)) ?? [])
    .filter(({ command }) => command.includes(state))
    .map(({ pid, command }) => `${pid} ${command.slice(0, 200)}`);
}

async function nothingIsLeft(ports: readonly number[] = []): Promise<void> {
  expect(strays()).toEqual([]);
  expect(readdirSync(join(state, 'attune', 'sandbox'))).toEqual([]);
  for (const port of ports) expect(await isListening(port), `port ${port}`).toBe(false);
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

/** The ports that a sandbox's processes were told to use. */
function portsOf(name: string): readonly number[] {
  const commands = [...daemonsIn(folder(name)).values()].map(({ command }) => command).join(' ');
  return [...new Set([...commands.matchAll(/(?:secure-port=|127\.0\.0\.1:)(\d+)/g)].map(([, port]) => Number(port)))];
}

afterEach(async () => {
  for (const entry of readdirSync(join(state, 'attune', 'sandbox'), { withFileTypes: true })) {
    if (entry.isDirectory()) await sandbox('down', '--name', entry.name).ended;
  }
});
afterAll(() => rmSync(state, { recursive: true }));

test('up, status, kubectl, env, logs and down do what they say', async () => {
  expect(await succeed('up', '--nodes', '2')).toContain('the sandbox default is up');
  const ports = portsOf('default');
  expect(ports.length).toBe(3);
  for (const port of ports) expect(await isListening(port), `port ${port}`).toBe(true);
  expect(await succeed('up')).toContain('is up already');
  expect(await succeed('status')).toMatch(/default: up.*\n.*etcd +process \d+/);
  expect((await succeed('kubectl', 'get', 'nodes', '-o', 'name')).split('\n')).toEqual(['node/node-0', 'node/node-1']);
  expect(await succeed('env')).toBe(`export KUBECONFIG='${folder('default')}/kubeconfig'`);
  expect(await succeed('logs', 'kube-scheduler')).toContain('Starting Kubernetes Scheduler');
  expect(await succeed('down')).toContain('is down');
  await nothingIsLeft(ports);
  expect(await sandbox('status').ended).toBe(1);
});

test(
  'up and down, again and again, leave no process, port or file',
  async () => {
    for (let round = 0; round < rounds(2, 20); round++) {
      await succeed('up', ...(round % 2 === 0 ? ['--api-only'] : []));
      const ports = portsOf('default');
      await succeed('down');
      await nothingIsLeft(ports);
    }
  },
  rounds(180_000, 1_800_000),
);

test(
  'after a kill -9 at any moment the next up works, and its down leaves nothing',
  async () => {
    let wholeMs = 5000; // what a start takes here and now, from the second round on
    for (let round = 0; round < rounds(2, 10); round++) {
      const moment = Math.random() * wholeMs;
      const killed = sandbox('up');
      await Promise.race([delay(moment), killed.ended]);
      await killed.kill9();
      const started = performance.now();
      await succeed('up');
      wholeMs = performance.now() - started;
      await succeed('kubectl', 'get', 'nodes');
      await succeed('down');
      expect(strays(), `killed after ${Math.round(moment)} ms`).toEqual([]);
      await nothingIsLeft();
    }
  },
  rounds(180_000, 1_800_000),
);

test.each(['SIGINT', 'SIGTERM'] as const)('%s while it starts leaves nothing', async (signal) => {
  const starting = sandbox('up');
  await until(() => daemonsIn(folder('default')).has('kube-apiserver'), {
    what: 'the API server being started',
    deadlineMs: 90_000,
  });
  process.kill(starting.pid, signal);
  expect(await starting.ended).not.toBe(0);
  await nothingIsLeft();
});

test('two sandboxes run at once and know nothing of each other', async () => {
  await Promise.all([succeed('up', '--name', 'one', '--api-only'), succeed('up', '--name', 'two', '--api-only')]);
  await succeed('--name', 'one', 'kubectl', 'create', 'namespace', 'only-in-one');
  expect(await succeed('--name', 'two', 'kubectl', 'get', 'namespaces', '-o', 'name')).not.toContain('only-in-one');
  await succeed('down', '--name', 'one');
  expect(await succeed('--name', 'two', 'kubectl', 'get', 'namespaces', '-o', 'name')).toContain('namespace/default');
  await succeed('down', '--name', 'two');
  await nothingIsLeft();
});

test('two who start the same sandbox at once get one', async () => {
  const texts = await Promise.all([succeed('up', '--api-only'), succeed('up', '--api-only')]);
  expect(texts.filter((text) => text.includes('is up already'))).toHaveLength(1);
  expect(daemonsIn(folder('default')).size).toBe(2);
});

test('data survives down and up with --keep, and only then', async () => {
  await succeed('up', '--api-only');
  await succeed('kubectl', 'create', 'configmap', 'precious', '--from-literal=a=b');
  expect(await succeed('down', '--keep')).toContain('its data is kept');
  expect(strays()).toEqual([]);
  await succeed('up', '--api-only');
  expect(await succeed('kubectl', 'get', 'configmap', 'precious', '-o', 'name')).toContain('precious');
  await succeed('down');
  await nothingIsLeft();
});

test('a part that cannot start is named with the last lines of its log', async () => {
  const binaries = await findBinaries(['etcd', 'kube-apiserver'], { env: { HOME: homedir(), ...env } }, () => {});
  const broken = join(state, 'binaries');
  mkdirSync(broken);
  symlinkSync(binaries.etcd, join(broken, 'etcd'));
  writeFileSync(join(broken, 'kube-apiserver'), '#!/bin/sh\necho no luck today >&2\nexit 3\n', { mode: 0o755 });
  const failing = sandbox('up', '--api-only', '--binaries', broken);
  expect(await failing.ended).toBe(1);
  expect(failing.lines.join('\n')).toMatch(
    /kube-apiserver ended with exit code 3; the last lines of .*\n +no luck today/,
  );
  expect(strays()).toEqual([]);
  expect(readdirSync(folder('default'))).toEqual(['logs']);
  expect(await succeed('logs', 'kube-apiserver')).toBe('no luck today');
  await succeed('down');
  await nothingIsLeft();
});

test('it is up when every part listens, however late one of them begins', async () => {
  const parts = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kwok', 'kubectl'] as const;
  const binaries = await findBinaries(parts, { env: { HOME: homedir(), ...env } }, () => {});
  const slow = join(state, 'slow');
  mkdirSync(slow);
  for (const part of parts.filter((name) => name !== 'kube-scheduler')) symlinkSync(binaries[part], join(slow, part));
  // By its name on the command line `down` finds it again.
  const late = `#!/bin/bash\nsleep 3\nexec -a "$0" ${binaries['kube-scheduler']} "$@"\n`;
  writeFileSync(join(slow, 'kube-scheduler'), late, { mode: 0o755 });
  await succeed('up', '--binaries', slow);
  const ports = portsOf('default');
  for (const port of ports) expect(await isListening(port), `port ${port}`).toBe(true);
  await succeed('down');
  await nothingIsLeft(ports);
});

test('a part that has died is named by status, and up makes everything good', async () => {
  await succeed('up', '--api-only');
  process.kill(daemonsIn(folder('default')).get('etcd')?.pid ?? 0, 'SIGKILL');
  const status = sandbox('status');
  expect(await status.ended).toBe(1);
  expect(status.lines.join('\n')).toMatch(/etcd +has died/);
  await succeed('up', '--api-only');
  await succeed('status');
});

test('pods of our own image run as processes, and down ends them too, even when their runner was killed', async () => {
  await succeed('up');
  await succeed('kubectl', 'create', 'deployment', 'mine', '--image=attune');
  const podProcess = () =>
    [...daemonsIn(folder('default'))].find(([name]) => name.startsWith('pod.default.mine-'))?.[1];
  const identity = await until(podProcess, { what: 'the process of the pod', deadlineMs: 90_000 });
  expect(identity.command).toContain('main.ts');
  process.kill(daemonsIn(folder('default')).get('pods')?.pid ?? 0, 'SIGKILL');
  expect(isAlive(identity)).toBe(true);
  await succeed('down');
  expect(isAlive(identity)).toBe(false);
  await nothingIsLeft();
});

test('a process that only has the pid of a part is never touched', async () => {
  await succeed('up', '--api-only');
  const stranger = spawn('sleep', ['600']);
  const identity = identityOf(stranger.pid ?? 0);
  if (!identity) throw new Error('the stranger is not seen');
  const record = join(folder('default'), 'processes', 'kwok.json');
  writeFileSync(record, JSON.stringify({ ...identity, startedAt: 'before', command: 'kwok' }));
  await succeed('down');
  expect(isAlive(identity)).toBe(true);
  stranger.kill('SIGKILL');
  await nothingIsLeft();
});

test('parts can be killed and revived, and requests are written to the audit log', async () => {
  const { plane, sandbox: own } = await ownControlPlane({ apiOnly: true, audit: 'metadata' });
  const client = api(plane);
  await client.create('/api/v1/namespaces/default/configmaps', { metadata: { name: 'before' } });
  await own.kill('kube-apiserver');
  await expect(client.get('/api/v1/namespaces/default/configmaps/before')).rejects.toThrow();
  await own.revive('kube-apiserver');
  await until(() => client.get('/api/v1/namespaces/default/configmaps/before'), {
    what: 'the API server answering',
    deadlineMs: 90_000,
  });
  const events = readFileSync(plane.auditLog, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { verb: string; user: { username: string }; objectRef?: { name?: string } });
  expect(events.some(({ verb, objectRef }) => verb === 'create' && objectRef?.name === 'before')).toBe(true);
  expect(new Set(events.map(({ user }) => user.username))).toEqual(new Set(['admin']));
});

test('data can be limited, so that a full disk can be tried', async () => {
  const { plane } = await ownControlPlane({ apiOnly: true, etcdQuotaBytes: 8 * 1024 * 1024 });
  const fill = async () => {
    for (let index = 0; index < 40; index++) {
      const data = { big: 'x'.repeat(500_000) };
      await api(plane).create('/api/v1/namespaces/default/configmaps', { metadata: { name: `big-${index}` }, data });
    }
  };
  await expect(fill()).rejects.toThrow('database space exceeded');
});
