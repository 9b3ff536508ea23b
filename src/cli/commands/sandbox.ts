import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { findBinaries } from '../../sandbox/binaries/binaries.ts';
import { BINARY_NAMES, type BinaryName, isBinaryName } from '../../sandbox/binaries/projects.ts';
import { sandboxFolder } from '../../sandbox/folders.ts';
import { inspectSandbox, inspectSandboxes, type SandboxReport } from '../../sandbox/inspect.ts';
import { lastLines, logFile, logNames } from '../../sandbox/processes/process-logs.ts';
import { requireRedisServer } from '../../sandbox/redis/redis-image.ts';
import { AlreadyUp, startSandbox, stopSandbox } from '../../sandbox/sandbox.ts';
import { servePods, startPodRunner } from '../sandbox/pod-runner.ts';
import { parseSandboxRequest, type SandboxRequest } from '../sandbox/sandbox-request.ts';
import { ending, refuse } from '../terminal/ending.ts';
import type { Io } from '../terminal/io.ts';
import { type WaitingLine, whileWaiting } from '../terminal/waiting-line.ts';

const HELP = `attune sandbox: a real control plane on this machine, without containers

  attune sandbox up              start it; returns when it is ready
  attune sandbox down            end it and remove everything
  attune sandbox status          what runs, and what has died and why
  attune sandbox env             a line for your shell: eval "$(attune sandbox env)"
  attune sandbox logs [PART]     the log of one part, or the last lines of all
  attune sandbox kubectl …       kubectl, speaking to the sandbox
  attune sandbox redis           three pods with Redis and its agent on it, to try them; starts the sandbox if need be
  attune sandbox binaries [NAME…] get the programs now, so that later starts are quick

  --name NAME      which sandbox; several can run side by side (default: default)
  --nodes N        how many nodes (default: 1)
  --api-only       only etcd and kube-apiserver: objects are stored, nothing acts on them
  --keep           keep the data over down and up
  --binaries DIR   take the programs from this folder (default: $KUBEBUILDER_ASSETS)
`;

/** `attune sandbox …`; gives the exit code. */
export async function run(argv: readonly string[], io: Io): Promise<number> {
  const request = parseSandboxRequest(argv);
  if (!('command' in request)) return refuse('sandbox', request, io);
  const command = COMMANDS[request.command];
  if (!command) {
    io.stdout(HELP);
    return 0;
  }
  return await ending('sandbox', io, () => command(request, io));
}

type Command = (request: SandboxRequest, io: Io) => Promise<number>;

const COMMANDS: Readonly<Record<string, Command>> = { up, down, status, env, logs, kubectl, binaries, redis, pods };

async function up(request: SandboxRequest, io: Io): Promise<number> {
  const { name, nodes, apiOnly, keep, binaries: folder } = request;
  const before = inspectSandbox(io.env, name);
  if (before?.state === 'broken')
    io.stderr(`the sandbox ${name} is broken and is started anew\n${lastLinesOfDead(before)}`);
  const started = performance.now();
  const options = { name, nodes, apiOnly, keep, env: io.env, binaries: { folder }, signal: io.signal };
  try {
    const sandbox = await waiting(io, ({ say, now: showStatus }) => startSandbox({ ...options, showStatus }, say));
    if (!apiOnly && process.platform === 'linux') startPodRunner(sandbox, io);
    sandbox.detach();
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    io.stdout(`the sandbox ${name} is up after ${seconds} s: ${sandbox.server}\n${usage(name)}`);
  } catch (error) {
    if (!(error instanceof AlreadyUp)) throw error;
    io.stdout(`${error.message}${keep ? '; its data will be kept' : ''}\n${usage(name)}`);
    io.stderr(withoutEffect(request));
  }
  return 0;
}

function withoutEffect({ given }: SandboxRequest): string {
  const flags = ['nodes', 'api-only', 'binaries'].filter((flag) => given.has(flag)).map((flag) => `--${flag}`);
  if (flags.length === 0) return '';
  return `without effect on a sandbox that is up: ${flags.join(', ')}; end it with down first\n`;
}

async function pods(request: SandboxRequest, io: Io): Promise<number> {
  await servePods(existing(request, io), io);
  return 0;
}

async function redis(request: SandboxRequest, io: Io): Promise<number> {
  requireRedisServer(io.env);
  if (inspectSandbox(io.env, request.name)?.state !== 'up') await up(request, io);
  // Loaded when it is called for: it makes certificates, and the other commands need none.
  const { addRedis } = await import('../sandbox/redis.ts');
  try {
    return await addRedis(existing(request, io), io, (work) => waiting(io, work));
  } catch (error) {
    if (io.signal.aborted) {
      const { name } = request;
      io.stderr(`the sandbox ${name} stays up; attune sandbox${nameFlag(name)} down ends it and removes everything\n`);
    }
    throw error;
  }
}

const nameFlag = (name: string): string => (name === 'default' ? '' : ` --name ${name}`);

function usage(name: string): string {
  return [
    `  ./attune sandbox${nameFlag(name)} kubectl get nodes`,
    `  eval "$(./attune sandbox${nameFlag(name)} env)"`,
    `  ./attune sandbox${nameFlag(name)} down\n`,
  ].join('\n');
}

async function down(request: SandboxRequest, io: Io): Promise<number> {
  const existed = await stopSandbox(io.env, request.name, request.keep, (line) => io.stderr(`${line}\n`));
  const kept = inspectSandbox(io.env, request.name)?.state === 'kept' ? '; its data is kept' : '';
  io.stdout(existed ? `the sandbox ${request.name} is down${kept}\n` : `there is no sandbox ${request.name}\n`);
  return 0;
}

async function status(request: SandboxRequest, io: Io): Promise<number> {
  const reports = inspectSandboxes(io.env);
  for (const report of reports) {
    io.stdout(`${report.name}: ${report.state}${report.server ? ` at ${report.server}` : ''}\n`);
    for (const { name, pid, alive } of report.processes) {
      io.stdout(`  ${name.padEnd(24)} ${alive ? `process ${pid}` : 'has died'}\n`);
    }
    io.stdout(lastLinesOfDead(report));
  }
  const asked = reports.find(({ name }) => name === request.name);
  if (!asked) io.stdout(`${request.name}: there is none\n`);
  return asked?.state === 'up' ? 0 : 1;
}

function lastLinesOfDead(report: SandboxReport): string {
  const dead = report.processes.filter(({ alive }) => !alive);
  return dead
    .map((part) => {
      const lines = part.lastLines.map((line) => `    ${line}\n`);
      return `${part.name} has died; the last lines of ${part.log}:\n${lines.join('')}`;
    })
    .join('');
}

async function env(request: SandboxRequest, io: Io): Promise<number> {
  const { kubeconfig, state, name } = existing(request, io);
  if (state !== 'up')
    io.stderr(`the sandbox ${name} is not up (${state}); attune sandbox${nameFlag(name)} status tells more\n`);
  io.stdout(`export KUBECONFIG='${kubeconfig.replaceAll("'", "'\\''")}'\n`);
  return 0;
}

async function logs(request: SandboxRequest, io: Io): Promise<number> {
  const dir = sandboxFolder(io.env, request.name);
  const parts = logNames(dir);
  // A failed start leaves logs, but no sandbox.
  if (parts.length === 0) existing(request, io);
  const [wanted] = request.operands;
  if (wanted === undefined) {
    for (const part of parts) io.stdout(`--- ${part}\n${lastLines(dir, part, 10).join('\n')}\n`);
    return 0;
  }
  if (!parts.includes(wanted)) throw new Error(`there is no part "${wanted}"; there are ${parts.join(', ')}`);
  io.stdout(readFileSync(logFile(dir, wanted), 'utf8'));
  return 0;
}

async function kubectl(request: SandboxRequest, io: Io): Promise<number> {
  const { kubeconfig } = existing(request, io);
  const paths = await findPrograms(['kubectl'], request, io);
  const child = spawn(paths.kubectl, request.operands, {
    stdio: 'inherit',
    env: { ...io.env, KUBECONFIG: kubeconfig },
    signal: io.signal,
  });
  return await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve(signal ? 1 : (code ?? 1)));
  });
}

async function binaries(request: SandboxRequest, io: Io): Promise<number> {
  const unknown = request.operands.filter((name) => !isBinaryName(name));
  if (unknown.length > 0) throw new Error(`unknown: ${unknown.join(', ')}; there are ${BINARY_NAMES.join(', ')}`);
  const names = request.operands.length > 0 ? request.operands.filter(isBinaryName) : BINARY_NAMES;
  const paths = await findPrograms(names, request, io);
  for (const name of names) io.stdout(`${name} ${paths[name]}\n`);
  return 0;
}

async function findPrograms<Name extends BinaryName>(names: readonly Name[], request: SandboxRequest, io: Io) {
  const options = { env: io.env, folder: request.binaries, signal: io.signal };
  return await waiting(io, ({ say, now: showStatus }) => findBinaries(names, { ...options, showStatus }, say));
}

/** Progress goes to stderr: the output of a command may be read by another program. */
function waiting<T>(io: Io, work: (line: WaitingLine) => Promise<T>): Promise<T> {
  return whileWaiting({ write: io.stderr, terminal: io.errorTerminal ?? {}, env: io.env }, work);
}

function existing(request: SandboxRequest, io: Io): SandboxReport {
  const report = inspectSandbox(io.env, request.name);
  if (!report)
    throw new Error(`there is no sandbox ${request.name}; start it with: attune sandbox up${nameFlag(request.name)}`);
  return report;
}
