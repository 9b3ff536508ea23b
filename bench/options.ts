import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Contender } from './contender.ts';
import type { Scenario } from './scenario.ts';

export interface BenchOptions {
  readonly scenarios: readonly Scenario[];
  readonly quick: boolean;
  readonly dir: string;
  readonly peers: readonly Contender[];
  readonly patienceMs: number;
  /** Another command instead of the bundle. */
  readonly attune: string | undefined;
}

export const HELP = (scenarios: readonly Scenario[]): string => `npm run bench -- [options]

  --only A,B        only these scenarios, by name or number
  --quick           the most important ones, briefly: up to three minutes
  --peer NAME='…'   another controller on the same server under the same load, once or more. The command finds
                    KUBECONFIG in its environment; {flags} in it stands for flags of Stakater Reloader that a scenario
                    needs, and without {flags} such scenarios are left out
  --patience MIN    before each scenario, wait up to so many minutes until the machine has nothing else to do
  --attune '…'      what to start instead of the bundle, {flags} as above
  --out DIR         where to put results.json, report.md and the plots (default: bench/results)
  --help            this

${scenarios.map(({ id, number = '', title }) => `  ${id.padEnd(16)} ${number.padEnd(4)} ${title}\n`).join('')}`;

/** Undefined: help is wanted. */
export function parseOptions(argv: readonly string[], all: readonly Scenario[]): BenchOptions | undefined {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      only: { type: 'string' },
      quick: { type: 'boolean', default: false },
      peer: { type: 'string', multiple: true, default: [] },
      patience: { type: 'string', default: '0' },
      attune: { type: 'string' },
      out: { type: 'string', default: join(import.meta.dirname, 'results') },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return undefined;
  const { only, quick } = values;
  const usual = all.filter(({ long }) => !(quick && long));
  return {
    scenarios: only === undefined ? usual : only.split(',').map((word) => find(word.trim(), all)),
    quick,
    dir: values.out,
    peers: values.peer.map(parsePeer),
    patienceMs: Number(values.patience) * 60_000,
    attune: values.attune,
  };
}

function find(word: string, all: readonly Scenario[]): Scenario {
  const found = all.find(({ id, number }) => id === word || number?.toLowerCase() === word.toLowerCase());
  if (!found) throw new Error(`there is no scenario "${word}"; --help lists them`);
  return found;
}

function parsePeer(text: string): Contender {
  const [, name, command] = /^([a-z][a-z0-9-]*)=(.+)$/s.exec(text) ?? [];
  if (!name || !command) throw new Error(`--peer is name='command …', not "${text}"`);
  if (['attune', 'floor'].includes(name)) throw new Error(`a peer cannot be called ${name}`);
  return { name, command, atOnce: [], rights: 'all' };
}
