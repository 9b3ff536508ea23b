import { nearest } from '../config/nearest.ts';
import type { Io } from './io.ts';

type Run = (argv: readonly string[], io: Io) => Promise<number>;

interface Command {
  readonly summary: string;
  /** Imported when it is called for: the controller must not carry the sandbox in its memory. */
  readonly load: () => Promise<Run>;
}

export const COMMANDS: Readonly<Record<string, Command>> = {
  controller: {
    summary: 'watch configuration and roll the workloads that asked for it (the default)',
    load: async () => (await import('./commands/controller.ts')).runControllerCommand,
  },
  explain: {
    summary: 'why a workload rolls for a source, or does not',
    load: async () => (await import('./commands/explain.ts')).runExplain,
  },
  impact: {
    summary: 'which workloads would roll if a source changed',
    load: async () => (await import('./commands/impact.ts')).runImpact,
  },
  doctor: {
    summary: 'what would change if Attune took over from Stakater Reloader',
    load: async () => (await import('./commands/doctor.ts')).runDoctor,
  },
  resume: {
    summary: 'end every pause that a reloader began, now',
    load: async () => (await import('./commands/resume.ts')).runResume,
  },
  sandbox: {
    summary: 'a real control plane on this machine, without containers',
    load: async () => (await import('./commands/sandbox.ts')).runSandbox,
  },
  tour: {
    summary: 'a guided tour: sandbox, demo application, controller, and a change that arrives',
    load: async () => (await import('./commands/tour.ts')).runTour,
  },
};

const USAGE = `attune: brings a changed ConfigMap or Secret to every workload that asked for it

usage: attune [command] [flags]

${Object.entries(COMMANDS)
  .map(([name, { summary }]) => `  ${name.padEnd(11)} ${summary}`)
  .join('\n')}

attune COMMAND --help tells more. Flags without a command are the controller's.
`;

/** Runs one command line and returns the exit code. */
export async function runCli(argv: readonly string[], io: Io): Promise<number> {
  const [word = '', ...rest] = argv;
  if (word === 'help' || (argv.length === 1 && (word === '--help' || word === '-h'))) {
    io.stdout(`${USAGE}\n`);
    if (word === 'help') return 0;
  }
  // Stakater's manifests call the program with flags alone.
  if (word === '' || word.startsWith('-')) return (await COMMANDS['controller']?.load())?.(argv, io) ?? 1;
  const command = Object.hasOwn(COMMANDS, word) ? COMMANDS[word] : undefined;
  if (command) return (await command.load())(rest, io);
  const guess = nearest(word, Object.keys(COMMANDS));
  io.stderr(`attune: there is no command "${word}"${guess ? `, did you mean ${guess}?` : ''}\n\n${USAGE}`);
  return 2;
}
