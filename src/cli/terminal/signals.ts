import { constants } from 'node:os';
import type { Clock } from '../../runtime/clock.ts';

/** The work is finished or undone first. */
const POLITE = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** Ctrl-\ ends the program without that. */
const AT_ONCE = 'SIGQUIT';

/**
 * One Ctrl-C arrives twice: the terminal sends it to every process in the foreground, and npm passes its own on. A user
 * who presses it again does so later than this.
 */
const SAME_STOP_MS = 1000;

/** Where signals come from, and how the program ends at once. */
export interface SignalSource {
  on(name: NodeJS.Signals, listener: (name: NodeJS.Signals) => void): unknown;
  exit(code: number): void;
}

/**
 * Aborted when the user wants to stop. A second request, after a moment, ends the process at once: then only the exit
 * handlers run.
 */
export function stopSignal(source: SignalSource = process, now: () => number = () => performance.now()): AbortSignal {
  const stop = new AbortController();
  let first: number | undefined;
  const end = (name: NodeJS.Signals): void => source.exit(128 + constants.signals[name]);
  for (const each of POLITE) {
    source.on(each, (name) => {
      if (first === undefined) {
        first = now();
        stop.abort(new Error(`stopped by ${name}`));
      } else if (now() - first >= SAME_STOP_MS) {
        end(name);
      }
    });
  }
  source.on(AT_ONCE, end);
  return stop.signal;
}

/** The exit code of a command that the user stopped, as a shell has it for Ctrl-C. */
export const STOPPED = 130;

/** The work, or a failure as soon as the user wants to stop: a server or a plugin may be silent for long. */
export async function unlessStopped<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const stopped = Promise.withResolvers<never>();
  const stop = (): void => stopped.reject(signal.reason);
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop, { once: true });
  return await Promise.race([work, stopped.promise]).finally(() => signal.removeEventListener('abort', stop));
}

/** The work, but no longer than this after a stop: what hangs then is left alone. */
export async function endingWithin(ms: number, work: Promise<void>, signal: AbortSignal, clock: Clock): Promise<void> {
  const late = Promise.withResolvers<void>();
  let callOff = (): void => {};
  const stop = (): void => {
    callOff = clock.after(ms, late.resolve);
  };
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop, { once: true });
  await Promise.race([work, late.promise]).finally(() => {
    signal.removeEventListener('abort', stop);
    callOff();
  });
}

const LOOK_MS = 500;

/**
 * Aborted when npm ran this program and is gone: npm passes on some signals and dies of the others, and then nobody
 * would end this program.
 */
export function endOfNpm(env: Readonly<Record<string, string | undefined>>): AbortSignal {
  const gone = new AbortController();
  const parent = process.ppid;
  if (env['npm_lifecycle_event'] === undefined) return gone.signal;
  const looking = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(looking);
    gone.abort(new Error('npm has ended'));
  }, LOOK_MS);
  looking.unref();
  return gone.signal;
}
