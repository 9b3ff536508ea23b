// Runs programs for a script, one at a time, so that none outlives it: a signal to the script goes to the program, and the
// script ends after it. Also shows the progress of long work. Runs before anything is installed: on Node 20 or newer,
// without dependencies.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import process from 'node:process';

const PARENT_CHECK_MS = 500;
const REWRITE_MS = 1000;
const LOG_MS = 12_000;
const CLEAR = '\r\x1b[2K';

let running;
let stoppedBy;

// Writing to a closed terminal must not end the script before its program.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'];
for (const name of STOP_SIGNALS) process.on(name, () => stop(name));

// npm forwards only some signals. The others kill npm alone, which is seen by another parent of this process.
const parent = process.ppid;
setInterval(() => {
  if (process.ppid !== parent && !stoppedBy) stop('SIGHUP');
}, PARENT_CHECK_MS).unref();

/** Forwards every signal, as a program may end faster after the second. */
function stop(name) {
  stoppedBy ??= name;
  if (running) running.kill(name);
  else process.exit(exitCode(name));
}

/** The exit code of a shell for a program that was ended by this signal. */
function exitCode(name) {
  return 128 + constants.signals[name];
}

/** Returns the exit code, or the error of a program that could not be run. After a signal the script ends instead. */
export async function run(command, args, options = {}) {
  const child = spawn(command, args, { stdio: 'inherit', ...options });
  running = child;
  const ending = await new Promise((resolve) => {
    child.once('error', (error) => resolve({ error }));
    child.once('close', (status, signal) => resolve({ status, signal }));
  });
  running = undefined;
  // Ctrl-C in a terminal reaches the program too, whose end may be seen before our own signal.
  stoppedBy ??= STOP_SIGNALS.find((name) => name === ending.signal || exitCode(name) === ending.status);
  if (stoppedBy) process.exit(exitCode(stoppedBy));
  return ending;
}

/**
 * While `work` runs, shows the elapsed time and what `status` returns: on a terminal in one line that is rewritten every
 * second, elsewhere in a new line every twelve seconds.
 */
export async function withStatusLine(status, work) {
  const { stdout, env } = process;
  const rewrites = stdout.isTTY && env.TERM !== 'dumb';
  const began = performance.now();
  const show = () => {
    const line = `${elapsed(performance.now() - began)} ${status()}`;
    stdout.write(rewrites ? `${CLEAR}${line.slice(0, (stdout.columns || 80) - 1)}` : `${line}\n`);
  };
  if (rewrites) show();
  const showing = setInterval(show, rewrites ? REWRITE_MS : LOG_MS);
  try {
    return await work();
  } finally {
    clearInterval(showing);
    if (rewrites) stdout.write(CLEAR);
  }
}

function elapsed(ms) {
  const seconds = Math.floor(ms / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}
