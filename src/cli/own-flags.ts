import type { KnownFlags } from '../config/command-line.ts';
import { AGENT_OPTIONS } from '../config/options/agent.ts';
import { CONTROLLER_OPTIONS } from '../config/options/controller.ts';
import { flagsOf } from '../config/options/option-table.ts';

/** A flag of one command, beside all flags of the controller. */
export interface OwnFlag {
  readonly name: string;
  readonly short?: string;
  readonly bare?: true;
}

/** Of every command that looks at a cluster, as kubectl calls them. */
export const CLUSTER_FLAGS: readonly OwnFlag[] = [
  { name: 'namespace', short: 'n' },
  { name: 'kubeconfig' },
  { name: 'context' },
  { name: 'sandbox', bare: true },
  { name: 'attune-namespace' },
];

const OUTPUT: OwnFlag = { name: 'output', short: 'o' };

/** In one place, because a flag may come before the word that says which command it is. */
export const OWN_FLAGS = {
  explain: [{ name: 'source' }, OUTPUT],
  impact: [OUTPUT],
  doctor: [OUTPUT],
  resume: [],
  'admission install': [OUTPUT, { name: 'dry-run', bare: true }],
  'admission uninstall': [],
  'admission status': [OUTPUT],
  'redis status': [OUTPUT],
  config: [OUTPUT],
  version: [OUTPUT],
  sandbox: [
    { name: 'name' },
    { name: 'nodes' },
    { name: 'api-only', bare: true },
    { name: 'keep', bare: true },
    { name: 'binaries' },
  ],
  tour: [{ name: 'name' }, { name: 'once', bare: true }, { name: 'keep', bare: true }],
} as const satisfies Readonly<Record<string, readonly OwnFlag[]>>;

/** Of agents, whose table says what each is. */
const AGENT_FLAGS: readonly OwnFlag[] = Array.from(flagsOf(AGENT_OPTIONS), ([name, { bare }]) =>
  bare ? { name, bare } : { name },
);

/** Every flag of every command. */
export const ALL_OWN_FLAGS: readonly OwnFlag[] = [...CLUSTER_FLAGS, ...Object.values(OWN_FLAGS).flat(), ...AGENT_FLAGS];

/** The controller's flags and these, as a command line is read. */
export function knownFlags(own: readonly OwnFlag[]): KnownFlags {
  return new Map([...flagsOf(CONTROLLER_OPTIONS), ...own.map(({ name, bare = false }) => [name, { bare }] as const)]);
}

/** `-n shop`, `-n=shop` and `-nshop`, as kubectl takes them. */
export function withLongNames(argv: readonly string[], flags: readonly OwnFlag[]): readonly string[] {
  const end = argv.indexOf('--');
  return argv.map((word, at) => {
    const flag = flags.find(({ short }) => short !== undefined && word.startsWith(`-${short}`));
    if (!flag || (end >= 0 && at > end)) return word;
    const value = word.slice(2).replace(/^=/, '');
    return word.length === 2 ? `--${flag.name}` : `--${flag.name}=${value}`;
  });
}
