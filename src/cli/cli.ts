import { nearest } from '../config/nearest.ts';
import { commandWord } from './command-word.ts';
import { guardedIo } from './terminal/guarded-io.ts';
import type { Io } from './terminal/io.ts';

interface Command {
  readonly summary: string;
  /** Imported when it is called for: the controller must not carry the sandbox in its memory. */
  readonly load: () => Promise<{ readonly run: (argv: readonly string[], io: Io) => Promise<number> }>;
}

export const COMMANDS: Readonly<Record<string, Command>> = {
  controller: {
    summary: 'watch configuration and roll the workloads that asked for it (the default in a pod)',
    load: () => import('./commands/controller.ts'),
  },
  admission: {
    summary: 'keep other writers from undoing a reload; install, uninstall, status',
    load: () => import('./commands/admission.ts'),
  },
  agent: {
    summary: 'apply the configuration of a program live, inside its pod: redis',
    load: () => import('./commands/agent.ts'),
  },
  redis: {
    summary: 'what the agents of a RedisCluster say: roles, what is applied, what waits for a restart',
    load: () => import('./commands/redis.ts'),
  },
  explain: { summary: 'why a workload rolls for a source, or does not', load: () => import('./commands/explain.ts') },
  impact: { summary: 'which workloads would roll if a source changed', load: () => import('./commands/impact.ts') },
  config: {
    summary: 'check ReloaderConfigs before they are applied, as the controller would',
    load: () => import('./commands/config.ts'),
  },
  doctor: {
    summary: 'what would change if Attune took over from Stakater Reloader',
    load: () => import('./commands/doctor.ts'),
  },
  resume: { summary: 'end every pause that a reloader began, now', load: () => import('./commands/resume.ts') },
  sandbox: {
    summary: 'a real control plane on this machine, without containers',
    load: () => import('./commands/sandbox.ts'),
  },
  version: { summary: 'which version this is', load: () => import('./commands/version.ts') },
  tour: {
    summary: 'a guided tour: sandbox, demo application, controller, and a change that arrives',
    load: () => import('./commands/tour.ts'),
  },
};

const USAGE = `attune: brings a changed ConfigMap or Secret to every workload that asked for it

usage: attune COMMAND [flags]

${Object.entries(COMMANDS)
  .map(([name, { summary }]) => `  ${name.padEnd(11)} ${summary}`)
  .join('\n')}

attune help COMMAND tells more. Flags without a command are the controller's.
`;

/**
 * Runs one command line and returns the exit code. Upstream ignores words after its flags, and so do we in a pod or a
 * script that was written for it; on a terminal, or if the word resembles a command, it is an error.
 */
export async function runCli(argv: readonly string[], processIo: Io): Promise<number> {
  const io = guardedIo(processIo);
  const found = commandWord(argv);
  if (!found) return await withoutCommand(argv, io);
  const { word, rest, isFirst } = found;
  if (word === 'help') return await help(rest, io);
  const command = commandNamed(word);
  if (command) return (await command.load()).run(rest, io);
  const mayBeStray = !isFirst && (isPod(io) || (io.terminal.isTTY !== true && guessFor(word) === undefined));
  return mayBeStray ? await controller(argv, io) : refuse(word, io);
}

/** Flags alone are the controller's, as Stakater's manifests call it; a person who types the name gets an overview. */
async function withoutCommand(argv: readonly string[], io: Io): Promise<number> {
  const rest = argv.filter((word) => word !== '--version');
  if (rest.length < argv.length) return (await import('./commands/version.ts')).run(rest, io);
  const asksForHelp = argv.length === 1 && /^(--help|-h)$/.test(argv[0] ?? '');
  const isBare = argv.length === 0 && isAttended(io) && !isPod(io);
  if (asksForHelp || isBare) io.stdout(`${USAGE}\n`);
  return isBare ? 0 : await controller(argv, io);
}

/** `help explain` is `explain --help`. */
async function help(words: readonly string[], io: Io): Promise<number> {
  const [word] = words;
  const command = word === undefined ? undefined : commandNamed(word);
  if (command) return (await command.load()).run(['--help'], io);
  if (word !== undefined && word !== 'help' && !word.startsWith('-')) return refuse(word, io);
  io.stdout(`${USAGE}\n`);
  return 0;
}

function refuse(word: string, io: Io): number {
  const guess = guessFor(word);
  io.stderr(`attune: there is no command "${word}"${guess ? `, did you mean ${guess}?` : ''}\n\n${USAGE}`);
  return 2;
}

const guessFor = (word: string): string | undefined => nearest(word, Object.keys(COMMANDS));

const controller = async (argv: readonly string[], io: Io): Promise<number> =>
  (await import('./commands/controller.ts')).run(argv, io);

const commandNamed = (word: string): Command | undefined =>
  Object.hasOwn(COMMANDS, word) ? COMMANDS[word] : undefined;

/** A person is there, also one who reads by a pager. */
const isAttended = ({ terminal, input }: Io): boolean => terminal.isTTY === true || input?.isTTY === true;

const isPod = ({ env }: Io): boolean => Boolean(env['KUBERNETES_SERVICE_HOST']);
