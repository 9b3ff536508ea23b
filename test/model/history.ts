/** What others do to a cluster, and what happens to us meanwhile. Values repeat: unique ones hide what is lost between. */
export type Action =
  | { readonly do: 'data'; readonly source: number; readonly value: string }
  /** Metadata only. */
  | { readonly do: 'label'; readonly source: number; readonly value: string }
  /** Deleted; the next data creates it anew. */
  | { readonly do: 'gone'; readonly source: number }
  | { readonly do: 'image'; readonly workload: number; readonly value: string }
  /** Back to the template before, with the marks it had. */
  | { readonly do: 'undo'; readonly workload: number }
  /** A PUT by somebody who does not know of marks. */
  | { readonly do: 'strip'; readonly workload: number }
  /** Another reloader writes the marks of the current data. */
  | { readonly do: 'relay'; readonly workload: number }
  | { readonly do: 'scale'; readonly workload: number; readonly value: number }
  | { readonly do: 'pause'; readonly workload: number; readonly value: boolean }
  /** Its ReloaderConfig is edited, and asks for the same as before. */
  | { readonly do: 'config'; readonly workload: number; readonly value: boolean }
  | { readonly do: 'recreate'; readonly workload: number }
  /** We are killed, and started again. */
  | { readonly do: 'down' }
  | { readonly do: 'up' }
  /** The server is out of reach, and has forgotten where our watches were when it is back. */
  | { readonly do: 'blind' }
  | { readonly do: 'sight' }
  | { readonly do: 'wait'; readonly ms: number };

export type Random = (below: number) => number;

/** The same numbers from the same seed. */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

export type Weights = Readonly<Partial<Record<Action['do'], number>>>;

export const ALL: Weights = {
  data: 10,
  label: 1,
  image: 4,
  undo: 1,
  strip: 1,
  relay: 1,
  scale: 1,
  pause: 1,
  recreate: 1,
  down: 2,
  blind: 1,
  wait: 10,
};

export interface Size {
  readonly steps: number;
  readonly sources: number;
  readonly workloads: number;
  readonly weights?: Weights;
  /** No value comes twice: then the order of events alone says what the pods have. */
  readonly unique?: boolean;
}

const VALUES = ['a', 'b', 'c'];
const IMAGES = ['v1', 'v2', 'v3'];
// Shorter than the quiet period, about as long, and long enough for everything to come to rest.
const WAITS_MS = [0, 10, 100, 700, 1200, 3000, 30_000];

/** A random history. What goes down comes up again, and what is blind sees again. */
export function historyFrom(random: Random, size: Size): readonly Action[] {
  const { steps, sources, workloads, weights = ALL, unique = false } = size;
  let used = 0;
  const value = (of: readonly string[]): string => {
    used += 1;
    return unique ? `${used}` : one(of);
  };
  const one = <T>(of: readonly T[]): T => of[random(of.length)] as T;
  const lots = (Object.keys(weights) as Action['do'][]).flatMap(
    (what) => Array(weights[what]).fill(what) as Action['do'][],
  );
  const ends: Action[] = [];
  const next = (): Action => {
    const what = one(lots);
    switch (what) {
      case 'down':
      case 'blind': {
        const end = ends.pop();
        if (!end) ends.push({ do: what === 'down' ? 'up' : 'sight' });
        return end ?? { do: what };
      }
      case 'data':
      case 'label':
        return { do: what, source: random(sources), value: value(VALUES) };
      case 'gone':
        return { do: what, source: random(sources) };
      case 'wait':
        return { do: what, ms: one(WAITS_MS) };
      case 'image':
        return { do: what, workload: random(workloads), value: value(IMAGES) };
      case 'scale':
        return { do: what, workload: random(workloads), value: 1 + random(3) };
      case 'pause':
      case 'config':
        return { do: what, workload: random(workloads), value: random(2) === 0 };
      default:
        return { do: what, workload: random(workloads) } as Action;
    }
  };
  return [...Array.from({ length: steps }, next), ...ends];
}
