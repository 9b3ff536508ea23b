import { constants } from 'node:os';

/** Asks for an end, and the work is finished or undone first. */
const POLITE = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** Ctrl-\: no patience left. */
const AT_ONCE = 'SIGQUIT';

/**
 * One Ctrl-C comes twice: the terminal sends it to everybody in the foreground, and npm passes on what it got. Nobody
 * has waited and lost patience within so little time.
 */
const SAME_STOP_MS = 1000;

/** Where signals come from, and how a program ends that is not to wait for anything. */
export interface SignalSource {
  on(name: NodeJS.Signals, listener: (name: NodeJS.Signals) => void): unknown;
  exit(code: number): void;
}

/**
 * Says when the user wants to stop. Whoever asks once more, after a moment, is not kept waiting: then only that is done
 * which is done at every exit.
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

const LOOK_MS = 500;

/**
 * Aborts when npm ran this program and is gone: npm passes on some signals and dies of the others, and then nobody is
 * left who would end what it ran.
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
