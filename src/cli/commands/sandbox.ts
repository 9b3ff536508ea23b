import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { findBinaries } from '../../sandbox/binaries.ts';
import type { Environment } from '../../sandbox/folders.ts';
import { inspectSandbox, inspectSandboxes, type SandboxReport } from '../../sandbox/inspect.ts';
import type { BinaryName } from '../../sandbox/pins.ts';
import { AlreadyUp, startSandbox, stopSandbox } from '../../sandbox/sandbox.ts';

/** What the command needs of the world. */
export interface SandboxIo {
  readonly env: Environment;
  /** Each is given whole lines, with their ends. */
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
  /** Says when the user wants to stop: Ctrl-C or SIGTERM. */
  readonly signal?: AbortSignal;
}

const HELP = `attune sandbox: a real control plane on this machine, without containers

  attune sandbox up              start it; returns when it is ready
  attune sandbox down            end it and remove everything
  attune sandbox status          what runs, and what has died and why
  attune sandbox env             a line for your shell: eval "$(attune sandbox env)"
  attune sandbox logs [PART]     the log of one part, or the last lines of all
  attune sandbox kubectl …       kubectl, speaking to the sandbox
  attune sandbox binaries        get all programs now, so that later starts are quick

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
export async function runSandbox(argv: readonly string[], io: SandboxIo): Promise<number> {
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
    if (io.signal?.aborted) return 130;
    if (error instanceof AlreadyUp) {
      io.stdout(`${error.message}\n${usage(request.name)}`);
      return 0;
    }
    io.stderr(`attune sandbox: ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  }
}

const COMMANDS: Readonly<Record<string, (request: Request, io: SandboxIo) => Promise<number>>> = {
  up,
  down,
  status,
  env,
  logs,
  kubectl,
  binaries,
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

async function up(request: Request, io: SandboxIo): Promise<number> {
  const { name, nodes, apiOnly, keep, binaries: folder } = request;
  const before = inspectSandbox(io.env, name);
  if (before?.state === 'broken') io.stderr(`the sandbox ${name} is broken and is started anew\n${deaths(before)}`);
  const started = performance.now();
  const sandbox = await startSandbox(
    { name, nodes, apiOnly, keep, env: io.env, binaries: { folder }, ...(io.signal ? { signal: io.signal } : {}) },
    (line) => io.stderr(`${line}\n`),
  );
  sandbox.release();
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  io.stdout(`the sandbox ${name} is up after ${seconds} s: ${sandbox.server}\n${usage(name)}`);
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

async function down(request: Request, io: SandboxIo): Promise<number> {
  const existed = await stopSandbox(io.env, request.name, request.keep, (line) => io.stderr(`${line}\n`));
  const kept = inspectSandbox(io.env, request.name)?.state === 'kept' ? '; its data is kept' : '';
  io.stdout(existed ? `the sandbox ${request.name} is down${kept}\n` : `there is no sandbox ${request.name}\n`);
  return 0;
}

async function status(request: Request, io: SandboxIo): Promise<number> {
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
    .map(({ name, log, lastLines }) => {
      return `${name} has died; the last lines of ${log}:\n${lastLines.map((line) => `    ${line}\n`).join('')}`;
    })
    .join('');
}

async function env(request: Request, io: SandboxIo): Promise<number> {
  const { kubeconfig } = existing(request, io);
  io.stdout(`export KUBECONFIG='${kubeconfig.replaceAll("'", "'\\''")}'\n`);
  return 0;
}

async function logs(request: Request, io: SandboxIo): Promise<number> {
  const { processes } = existing(request, io);
  const [part] = request.operands;
  if (part === undefined) {
    for (const { name, log } of processes) {
      io.stdout(`--- ${name} (${log})\n${logText(log).split('\n').slice(-11).join('\n')}`);
    }
    return 0;
  }
  const found = processes.find(({ name }) => name === part);
  if (!found) throw new Error(`there is no part "${part}"; there are ${processes.map(({ name }) => name).join(', ')}`);
  io.stdout(logText(found.log));
  return 0;
}

function logText(file: string): string {
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}

async function kubectl(request: Request, io: SandboxIo): Promise<number> {
  const { kubeconfig } = existing(request, io);
  const options = { env: io.env, folder: request.binaries, signal: io.signal };
  const paths = await findBinaries(['kubectl'], options, (line) => io.stderr(`${line}\n`));
  const child = spawn(paths.kubectl, request.operands, {
    stdio: 'inherit',
    env: { ...io.env, KUBECONFIG: kubeconfig },
  });
  return await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve(signal ? 1 : (code ?? 1)));
  });
}

async function binaries(request: Request, io: SandboxIo): Promise<number> {
  const all: readonly BinaryName[] = [
    'etcd',
    'kube-apiserver',
    'kube-controller-manager',
    'kube-scheduler',
    'kubectl',
    'kwok',
    'helm',
  ];
  const options = { env: io.env, folder: request.binaries, signal: io.signal };
  const paths = await findBinaries(all, options, (line) => io.stderr(`${line}\n`));
  for (const name of all) io.stdout(`${name} ${paths[name]}\n`);
  return 0;
}

function existing(request: Request, io: SandboxIo): SandboxReport {
  const report = inspectSandbox(io.env, request.name);
  if (!report) throw new Error(`there is no sandbox ${request.name}; start it with: attune sandbox up`);
  return report;
}
