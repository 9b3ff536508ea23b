import { isForStart } from '../../../../domain/redis/config/refusal.ts';
import type { Wanted } from '../../../../domain/redis/config/wanted.ts';
import type { Redis } from '../../connection/redis.ts';
import type { TryServer } from '../../server/trial.ts';
import type { Directive } from '../step.ts';
import { setLive } from './set-live.ts';
import { directiveOf } from './start-only.ts';
import { askTrial } from './trial-questions.ts';

/** A setting for the next start. At least one of the two is there. */
export interface Candidate {
  /** What is new. */
  readonly wanted: Wanted | undefined;
  /** What was accepted before, and stays if the new one is bad. */
  readonly last: Directive | undefined;
}

/** What a throw-away server has told about a new setting. */
interface Learned {
  readonly isLive: boolean;
  readonly canonical: string | undefined;
  readonly version: string;
}

export interface StartProof {
  readonly directives: readonly Directive[];
  readonly learned: readonly {
    readonly wanted: Wanted;
    readonly before: string | undefined;
    readonly learned: Learned;
  }[];
}

/** Redis's own, where a throw-away server always has another value. */
const REDIS_DEFAULTS: readonly Directive[] = [
  ['save', '3600 1 300 100 60 10000'],
  ['appendonly', 'no'],
];

/** Finds the settings with which Redis starts. `base` is what the start file has beside them. */
export async function proveStart(
  tryServer: TryServer,
  candidates: readonly Candidate[],
  base: readonly Directive[],
): Promise<StartProof> {
  const fresh = candidates.flatMap(({ wanted }) => wanted ?? []);
  const fromLast = candidates.flatMap(({ last }) => (last ? [last] : []));
  const before = await withoutThem(tryServer, fresh, base);
  // Where not even a server without settings starts, a trial says nothing about the settings.
  if (!before) return { directives: fromLast, learned: [] };
  const learned = new Map<string, Learned>();
  const good = await startable(tryServer, candidates, [], learned);
  // New ones whose value Redis refuses, though not at a start, and those with which it does not start.
  const bad = candidates.filter(({ wanted, last }) => wanted && last && !learned.has(wanted.name));
  const back = await startable(
    tryServer,
    bad.map(({ last }) => ({ wanted: undefined, last })),
    good.flatMap((each) => directiveIn(each, learned)),
    learned,
  );
  return {
    directives: [
      ...good.flatMap((each) => directiveIn(each, learned)),
      ...back.flatMap(({ last }) => (last ? [last] : [])),
    ],
    learned: fresh.flatMap((wanted) => {
      const found = learned.get(wanted.name);
      return found ? [{ wanted, before: before.get(wanted.name), learned: found }] : [];
    }),
  };
}

const directiveIn = ({ wanted, last }: Candidate, learned: ReadonlyMap<string, Learned>): readonly Directive[] => {
  if (!wanted) return last ? [last] : [];
  return learned.has(wanted.name) ? [directiveOf(wanted.name, wanted.text)] : [];
};

/** Those with which a server starts, beside `sure` ones: all at once, and by halves where that fails. */
async function startable(
  tryServer: TryServer,
  candidates: readonly Candidate[],
  sure: readonly Directive[],
  learned: Map<string, Learned>,
): Promise<readonly Candidate[]> {
  if (candidates.length === 0) return [];
  const fresh = candidates.flatMap(({ wanted }) => wanted ?? []);
  const own = candidates.flatMap(({ wanted, last }) =>
    wanted ? [directiveOf(wanted.name, wanted.text)] : last ? [last] : [],
  );
  const directives = [...sure, ...own];
  const answer = await tried(tryServer, directives, (redis) => learn(redis, directives, fresh));
  if (answer) {
    for (const [name, found] of answer) learned.set(name, found);
    return candidates;
  }
  if (candidates.length === 1) return [];
  const middle = Math.ceil(candidates.length / 2);
  const first = await startable(tryServer, candidates.slice(0, middle), sure, learned);
  const beside = [...sure, ...first.flatMap((each) => directiveIn(each, learned))];
  return [...first, ...(await startable(tryServer, candidates.slice(middle), beside, learned))];
}

/** Sets each new parameter live as well: what is not taken there is refused, and what cannot be set there counts from a start on. */
async function learn(
  redis: Redis,
  directives: readonly Directive[],
  fresh: readonly Wanted[],
): Promise<ReadonlyMap<string, Learned> | undefined> {
  const parameters = fresh.filter(({ line, name }) => !line && name !== 'bind');
  const refused = await setLive(redis, parameters);
  const answer = await askTrial(
    redis,
    directives,
    parameters.map(({ name }) => name),
  );
  if (answer.problem !== undefined) return undefined;
  return new Map(
    fresh.flatMap((wanted) => {
      const { name } = wanted;
      const words = refused.get(name);
      if (words !== undefined && !isForStart(words)) return [];
      const isLive = parameters.includes(wanted) && words === undefined;
      return [[name, { isLive, canonical: answer.parameters.get(name), version: answer.version }] as const];
    }),
  );
}

/** What a server has that starts without the settings; undefined: it does not start. */
async function withoutThem(
  tryServer: TryServer,
  fresh: readonly Wanted[],
  base: readonly Directive[],
): Promise<ReadonlyMap<string, string> | undefined> {
  const names = fresh.filter(({ line }) => !line).map(({ name }) => name);
  const known = [...REDIS_DEFAULTS, ...base].filter(([name]) => names.includes(name));
  const own = [...new Map(known)].map(([name, text]) => ({ name, text }));
  return tried(tryServer, [], async (redis) => {
    await setLive(redis, own);
    return (await askTrial(redis, [], names)).parameters;
  });
}

/** Undefined: no server came up, or none that answers. */
async function tried<T>(
  tryServer: TryServer,
  directives: readonly Directive[],
  ask: (redis: Redis) => Promise<T>,
): Promise<T | undefined> {
  try {
    const answer = await tryServer({ directives }, ask);
    return answer.ok ? answer.value : undefined;
  } catch {
    return undefined;
  }
}
