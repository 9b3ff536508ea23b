import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { KubeClient } from '../../kube/client.ts';
import { connect } from '../../kube/connection.ts';
import { findBinaries } from '../../sandbox/binaries.ts';
import { layout } from '../../sandbox/control-plane.ts';
import { readAdminToken } from '../../sandbox/credentials.ts';
import { inspectSandbox, inspectSandboxes, type SandboxReport } from '../../sandbox/inspect.ts';
import { BINARY_NAMES, isBinaryName } from '../../sandbox/pins.ts';
import { runPods } from '../../sandbox/pods.ts';
import { lastLines, logFile, logNames, start } from '../../sandbox/recorded-process.ts';
import { AlreadyUp, type Sandbox, startSandbox, stopSandbox } from '../../sandbox/sandbox.ts';
import type { Io } from '../io.ts';

const HELP = `attune sandbox: a real control plane on this machine, without containers

  attune sandbox up              start it; returns when it is ready
  attune sandbox down            end it and remove everything
  attune sandbox status          what runs, and what has died and why
  attune sandbox env             a line for your shell: eval "$(attune sandbox env)"
  attune sandbox logs [PART]     the log of one part, or the last lines of all
  attune sandbox kubectl …       kubectl, speaking to the sandbox
  attune sandbox binaries [NAME…] get the programs now, so that later starts are quick

  --name NAME      which sandbox; several can run side by side (default: default)
  --nodes N        how many nodes (default: 1)
  --api-only       only etcd and kube-apiserver: objects are stored, nothing acts on them
  --keep           keep the data over down and up
  --binaries DIR   take the programs from this folder (default: $KUBEBUILDER_ASSETS)
`;

interface Request {
  readonly command: string;
  readonly operands: readonly string[];
  readonly name: string;
  readonly nodes: number;
  readonly apiOnly: boolean;
  readonly keep: boolean;
  readonly binaries: string | undefined;
}

/** `attune sandbox …`; gives the exit code. */
export async function runSandbox(argv: readonly string[], io: Io): Promise<number> {
  const request = parseRequest(argv);
  if (typeof request === 'string') {
    io.stderr(`attune sandbox: ${request}\n\n${HELP}`);
    return 2;
  }
  const run = COMMANDS[request.command];
  if (!run) {
    io.stdout(HELP);
    return 0;
  }
  try {
    return await run(request, io);
  } catch (error) {
    if (io.signal.aborted) return 130;
    if (error instanceof AlreadyUp) {
      io.stdout(`${error.message}\n${usage(request.name)}`);
      return 0;
    }
    io.stderr(`attune sandbox: ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  }
}

const COMMANDS: Readonly<Record<string, (request: Request, io: Io) => Promise<number>>> = {
  up,
  down,
  status,
  env,
  logs,
  kubectl,
  binaries,
  pods,
};

const OPTIONS = {
  name: { type: 'string', default: 'default' },
  nodes: { type: 'string', default: '1' },
  'api-only': { type: 'boolean', default: false },
  keep: { type: 'boolean', default: false },
  binaries: { type: 'string' },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

/** What is wanted, or what is wrong with it. */
function parseRequest(argv: readonly string[]): Request | string {
  // What follows the word kubectl is kubectl's alone.
  const at = argv.indexOf('kubectl');
  const own = at === -1 ? argv : argv.slice(0, at + 1);
  const passed = at === -1 ? [] : argv.slice(at + 1);
  try {
    const { values, positionals } = parseArgs({ args: [...own], options: OPTIONS, allowPositionals: true });
    const [command = 'help', ...operands] = positionals;
    if (command !== 'help' && !COMMANDS[command]) return `"${command}" is not a command`;
    const nodes = Number(values.nodes);
    if (!Number.isInteger(nodes) || nodes < 0) return `--nodes must be a number like 3, not "${values.nodes}"`;
    return {
      command: values.help ? 'help' : command,
      operands: [...operands, ...passed],
      name: values.name,
      nodes,
      apiOnly: values['api-only'],
      keep: values.keep,
      binaries: values.binaries,
    };
  } catch (error) {
    return (error as Error).message;
  }
}

async function up(request: Request, io: Io): Promise<number> {
  const { name, nodes, apiOnly, keep, binaries: folder } = request;
  const before = inspectSandbox(io.env, name);
  if (before?.state === 'broken') io.stderr(`the sandbox ${name} is broken and is started anew\n${deaths(before)}`);
  const started = performance.now();
  const sandbox = await startSandbox(
    { name, nodes, apiOnly, keep, env: io.env, binaries: { folder }, signal: io.signal },
    (line) => io.stderr(`${line}\n`),
  );
  if (!apiOnly && process.platform === 'linux') startPodRunner(sandbox, io);
  sandbox.release();
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  io.stdout(`the sandbox ${name} is up after ${seconds} s: ${sandbox.server}\n${usage(name)}`);
  return 0;
}

/** The runner of pods outlives this command, so it is a process like the other parts: this program once more. */
function startPodRunner(sandbox: Sandbox, io: Io): void {
  const argv = [...thisProgram(), 'sandbox', 'pods', '--name', sandbox.name];
  start(sandbox.dir, { name: 'pods', argv, env: io.env }).release();
}

function thisProgram(): readonly string[] {
  return [process.execPath, ...process.execArgv, process.argv[1] ?? ''];
}

async function pods(request: Request, io: Io): Promise<number> {
  const { dir, server = '' } = existing(request, io);
  const access = { server, authority: readFileSync(layout(dir).authority, 'utf8'), token: readAdminToken(dir) };
  const client = new KubeClient(await connect({ kubeconfig: layout(dir).kubeconfig, env: {} }));
  const say = (line: string) => io.stdout(`${line}\n`);
  const options = { client, access, dir, images: ['attune'], program: thisProgram(), env: io.env, say };
  await runPods(options, io.signal);
  client.close();
  return 0;
}

function usage(name: string): string {
  const named = name === 'default' ? '' : ` --name ${name}`;
  return [
    `  ./attune sandbox${named} kubectl get nodes`,
    `  eval "$(./attune sandbox${named} env)"`,
    `  ./attune sandbox${named} down\n`,
  ].join('\n');
}

async function down(request: Request, io: Io): Promise<number> {
  const existed = await stopSandbox(io.env, request.name, request.keep, (line) => io.stderr(`${line}\n`));
  const kept = inspectSandbox(io.env, request.name)?.state === 'kept' ? '; its data is kept' : '';
  io.stdout(existed ? `the sandbox ${request.name} is down${kept}\n` : `there is no sandbox ${request.name}\n`);
  return 0;
}

async function status(request: Request, io: Io): Promise<number> {
  const reports = inspectSandboxes(io.env);
  for (const report of reports) {
    io.stdout(`${report.name}: ${report.state}${report.server ? ` at ${report.server}` : ''}\n`);
    for (const { name, pid, alive } of report.processes) {
      io.stdout(`  ${name.padEnd(24)} ${alive ? `process ${pid}` : 'has died'}\n`);
    }
    io.stdout(deaths(report));
  }
  const asked = reports.find(({ name }) => name === request.name);
  if (!asked) io.stdout(`${request.name}: there is none\n`);
  return asked?.state === 'up' ? 0 : 1;
}

function deaths(report: SandboxReport): string {
  const dead = report.processes.filter(({ alive }) => !alive);
  return dead
    .map((part) => {
      const lines = part.lastLines.map((line) => `    ${line}\n`);
      return `${part.name} has died; the last lines of ${part.log}:\n${lines.join('')}`;
    })
    .join('');
}

async function env(request: Request, io: Io): Promise<number> {
  const { kubeconfig } = existing(request, io);
  io.stdout(`export KUBECONFIG='${kubeconfig.replaceAll("'", "'\\''")}'\n`);
  return 0;
}

async function logs(request: Request, io: Io): Promise<number> {
  const { dir } = existing(request, io);
  const parts = logNames(dir);
  const [wanted] = request.operands;
  if (wanted === undefined) {
    for (const part of parts) io.stdout(`--- ${part}\n${lastLines(dir, part, 10).join('\n')}\n`);
    return 0;
  }
  if (!parts.includes(wanted)) throw new Error(`there is no part "${wanted}"; there are ${parts.join(', ')}`);
  io.stdout(readFileSync(logFile(dir, wanted), 'utf8'));
  return 0;
}

async function kubectl(request: Request, io: Io): Promise<number> {
  const { kubeconfig } = existing(request, io);
  const options = { env: io.env, folder: request.binaries, signal: io.signal };
  const paths = await findBinaries(['kubectl'], options, (line) => io.stderr(`${line}\n`));
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

async function binaries(request: Request, io: Io): Promise<number> {
  const unknown = request.operands.filter((name) => !isBinaryName(name));
  if (unknown.length > 0) throw new Error(`unknown: ${unknown.join(', ')}; there are ${BINARY_NAMES.join(', ')}`);
  const names = request.operands.length > 0 ? request.operands.filter(isBinaryName) : BINARY_NAMES;
  const options = { env: io.env, folder: request.binaries, signal: io.signal };
  const paths = await findBinaries(names, options, (line) => io.stderr(`${line}\n`));
  for (const name of names) io.stdout(`${name} ${paths[name]}\n`);
  return 0;
}

function existing(request: Request, io: Io): SandboxReport {
  const report = inspectSandbox(io.env, request.name);
  if (!report) throw new Error(`there is no sandbox ${request.name}; start it with: attune sandbox up`);
  return report;
}
