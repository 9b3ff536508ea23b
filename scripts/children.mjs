// Runs the programs of a script one after the other, so that none of them outlives it: whoever stops the script stops the
// program first. Also what is shown while one takes long. Node 20 or newer, without dependencies.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import process from 'node:process';

const LOOK_MS = 500;
const REWRITE_MS = 1000;
const LOG_MS = 12_000;
const CLEAR = '\r\x1b[2K';

let running;
let stoppedBy;

// A terminal that was closed is no reason to end before the programs have.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
const STOPS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'];
for (const name of STOPS) process.on(name, () => stop(name));

// npm passes on some signals and dies of the others: whoever it ran is then on its own.
const parent = process.ppid;
setInterval(() => {
  if (process.ppid !== parent && !stoppedBy) stop('SIGHUP');
}, LOOK_MS).unref();

/** It may come several times: the program knows what one stop is, and what impatience. */
function stop(name) {
  stoppedBy ??= name;
  if (running) running.kill(name);
  else process.exit(codeOf(name));
}

/** As a shell has it. */
function codeOf(name) {
  return 128 + constants.signals[name];
}

/** Gives the exit code, or the error of a program that could not be run. A stop ends the script as soon as it has ended. */
export async function run(command, args, options = {}) {
  const child = spawn(command, args, { stdio: 'inherit', ...options });
  running = child;
  const ending = await new Promise((resolve) => {
    child.once('error', (error) => resolve({ error }));
    child.once('close', (status, signal) => resolve({ status, signal }));
  });
  running = undefined;
  // A terminal stops everybody in it, and the program's end may be heard of before our own stop.
  stoppedBy ??= STOPS.find((name) => name === ending.signal || codeOf(name) === ending.status);
  if (stoppedBy) process.exit(codeOf(stoppedBy));
  return ending;
}

/**
 * While `work` goes on: how long it has taken and what `state` says, on a terminal in one line that is rewritten every
 * second, elsewhere in a line every twelve.
 */
export async function whileWaiting(state, work) {
  const { stdout, env } = process;
  const rewrites = stdout.isTTY && env.TERM !== 'dumb';
  const began = performance.now();
  const show = () => {
    const line = `${elapsed(performance.now() - began)} ${state()}`;
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
