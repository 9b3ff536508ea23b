import { type Clock, systemClock } from '../../runtime/clock.ts';
import { CLEAR } from './sequences.ts';

/** Shows during a long wait what is being done, how far it is, and how long it has taken. */
export interface WaitingLine {
  /** A line that stays. */
  say(line: string): void;
  /** What is done at this moment; replaces what was done before. */
  now(state: string): void;
  /** The wait is over. */
  end(): void;
}

interface Output {
  readonly write: (text: string) => void;
  readonly terminal: { readonly isTTY?: boolean; readonly columns?: number };
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly indent?: string;
}

/** How often the line is rewritten on a terminal, and how often one is added to a log. */
const REWRITE_MS = 1000;
const LOG_MS = 12_000;
const COLUMNS = 80;

/** Shows what `work` tells while it takes its time. */
export async function whileWaiting<T>(output: Output, work: (line: WaitingLine) => Promise<T>): Promise<T> {
  const line = waitingLine(output);
  try {
    return await work(line);
  } finally {
    line.end();
  }
}

/** On a terminal one line that is rewritten every second; elsewhere a line every twelve. */
export function waitingLine({ write, terminal, env, indent = '' }: Output, clock: Clock = systemClock): WaitingLine {
  const rewrites = terminal.isTTY === true && env['TERM'] !== 'dumb';
  const began = clock.now();
  let state: string | undefined;
  let callOff = (): void => {};
  const show = (): void => {
    if (state === undefined) return;
    const line = `${indent}${elapsed(clock.now() - began)} ${state}`;
    // A line that wraps could not be rewritten. A terminal without a size says 0.
    const width = (terminal.columns || COLUMNS) - 1;
    const cut = line.length <= width ? line : `${line.slice(0, Math.max(0, width - 1))}…`;
    write(rewrites ? `${CLEAR}${cut}` : `${line}\n`);
  };
  const tick = (): void => {
    callOff = clock.after(rewrites ? REWRITE_MS : LOG_MS, () => {
      show();
      tick();
    });
  };
  return {
    say(line) {
      write(`${rewrites && state !== undefined ? CLEAR : ''}${line}\n`);
      if (rewrites) show();
    },
    now(next) {
      const begins = state === undefined;
      state = next;
      if (!begins) return;
      if (rewrites) show();
      tick();
    },
    end() {
      callOff();
      if (rewrites && state !== undefined) write(CLEAR);
      state = undefined;
    },
  };
}

/** 0:07, 12:34, 1:02:03. */
export function elapsed(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  const two = (count: number): string => String(count).padStart(2, '0');
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  const front = hours > 0 ? `${hours}:${two(minutes % 60)}` : String(minutes);
  return `${front}:${two(seconds % 60)}`;
}
