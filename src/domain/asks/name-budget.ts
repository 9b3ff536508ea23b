import { thousands } from '../text/thousands.ts';
import { type Ask, type Intent, originText, type Problem } from './ask.ts';
import { Faults } from './faults.ts';
import type { NamePattern } from './name-pattern.ts';

// Measured: a name that is asked for takes half a kilobyte, its place in the index and in the state of the workload included.
export const MOST_NAMES = 10_000;
/** Of all long lists of a namespace. A name of a ReloaderConfig counts for each target and each namespace of its sources. */
export const MOST_NAMES_PER_NAMESPACE = 50_000;
/** Short lists always count, so that a neighbor with long ones cannot shut them out. */
const SHORT = 100;

export const TOO_MANY_NAMES = `is not read: the lists of a workload or ReloaderConfig may have at most ${thousands(MOST_NAMES)} names together`;
export const NO_ROOM_FOR_NAMES = `is not read: the long lists of a namespace may have at most ${thousands(MOST_NAMES_PER_NAMESPACE)} names together`;

interface Share {
  readonly namespace: string;
  readonly size: number;
}

/**
 * How many names the workloads and ReloaderConfigs of a namespace ask for together. The first ones keep their share until they
 * change or go. Names for which there was no room are tried again when their workload or config is edited.
 */
export class NameBudget {
  readonly #taken = new Map<string, number>();
  readonly #shares = new Map<string, Share>();

  /** Takes the share of a workload or config, in place of the one it had. Gives back how many of its names have room. */
  hold(namespace: string, holder: string, names: number, timesEach = 1): number {
    this.release(holder);
    if (names * timesEach <= SHORT) return names;
    const taken = this.#taken.get(namespace) ?? 0;
    const most = Math.floor(Math.max(SHORT, MOST_NAMES_PER_NAMESPACE - taken) / timesEach);
    const held = Math.min(names, most);
    const size = held * timesEach;
    this.#taken.set(namespace, taken + size);
    this.#shares.set(holder, { namespace, size });
    return held;
  }

  release(holder: string): void {
    const share = this.#shares.get(holder);
    if (!share) return;
    this.#shares.delete(holder);
    const left = this.sizeOf(share.namespace) - share.size;
    if (left > 0) this.#taken.set(share.namespace, left);
    else this.#taken.delete(share.namespace);
  }

  /** How many names of long lists a namespace has. */
  sizeOf(namespace: string): number {
    return this.#taken.get(namespace) ?? 0;
  }
}

/** An expression has no literal, and a source without a name an empty one. */
const isName = ({ literal = '' }: NamePattern): boolean => literal !== '';

/** How many plain names there are. */
export const countNames = (patterns: readonly NamePattern[]): number =>
  patterns.reduce((count, pattern) => (isName(pattern) ? count + 1 : count), 0);

/** How many names the annotations of a workload ask for. */
export const countNamesOf = (asks: readonly Ask[]): number =>
  asks.reduce((count, { wants }) => (wants.what === 'named' ? count + countNames(wants.patterns) : count), 0);

/** Expressions, and of the names the first ones. Each other name is handed to `refuse`. */
export function firstNames(
  patterns: readonly NamePattern[],
  room: number,
  refuse: (text: string) => void,
): readonly NamePattern[] {
  let left = room;
  return patterns.filter((pattern) => {
    if (!isName(pattern)) return true;
    left -= 1;
    if (left < 0) refuse(pattern.text);
    return left >= 0;
  });
}

/** What annotations ask for, with so many names. A list of SAP's is left out as a whole: its digest is over all of it. */
export function withinNames(
  intent: Pick<Intent, 'asks'>,
  most: number,
  fault: string,
): { readonly asks: readonly Ask[]; readonly problems: readonly Problem[] } {
  let room = most;
  const listed = countNamesOf(intent.asks.filter((ask) => ask.listed));
  const others = countNamesOf(intent.asks) - listed;
  const problems: Problem[] = [];
  const asks = intent.asks.flatMap((ask): readonly Ask[] => {
    const { wants, origin } = ask;
    if (wants.what !== 'named' || origin.by === 'config') return [ask];
    const faults = new Faults(origin.by === 'annotation' ? origin.key : originText(origin));
    const isWhole = !ask.listed || others + listed <= most;
    const patterns = firstNames(wants.patterns, isWhole ? room : 0, (text) => faults.add(text, fault));
    room -= countNames(patterns);
    problems.push(...faults.problems());
    if (faults.count === 0) return [ask];
    return ask.listed ? [] : [{ ...ask, wants: { ...wants, patterns } }];
  });
  return { asks, problems };
}
