import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { environment } from '../../../src/config/load.ts';
import { daemonsIn } from '../../../src/sandbox/processes/daemon.ts';
import {
  CTRL_BACKSLASH,
  CTRL_C,
  killAllWith,
  openTerminal,
  processesWith,
  send,
  type Terminal,
} from '../../support/terminal.ts';
import { until } from '../../support/wait.ts';

// Real terminals, the real npm, and control planes on a machine that may have other things to do.
vi.setConfig({ testTimeout: 360_000, hookTimeout: 60_000 });

const DEADLINE_MS = 150_000;
const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const NAME = 'ctrl-c';

// A place of each test's own: whatever was started here is known by it.
let state: string;
beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'attune-terminal-'));
});
afterEach(async () => {
  // Of a test that failed; one that passed has left nothing.
  await until(() => killAllWith(state) === 0, { what: 'the end of all processes' });
  rmSync(state, { recursive: true });
});

const sandboxes = () => join(state, 'attune', 'sandbox');
const recordedIn = (name: string) => daemonsIn(join(sandboxes(), name));
const left = () => ({ processes: processesWith(state), files: listed(sandboxes()) });
const listed = (folder: string) =>
  existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }) : [];

const npmStart = (name: string, variables: Readonly<Record<string, string>> = {}): Terminal =>
  openTerminal(`exec npm start -- --name ${name}`, ROOT, { XDG_STATE_HOME: state, ...variables });
const npm = () => processesWith(state).find(({ command }) => command.startsWith('npm start'))?.pid ?? 0;
const tour = () => processesWith(state).find(({ command }) => command.includes('main.ts tour'))?.pid ?? 0;

/** A machine without the programs, cut off from their releases, and with a Go that never gets done. */
function buildingForever(): Readonly<Record<string, string>> {
  const bin = join(state, 'go');
  const go = `#!/bin/sh
    if [ "$1" = list ]; then printf '%s\\n' example.com/first example.com/second; exit; fi
    echo example.com/first >&2
    touch "$GOTMPDIR/half"
    sh -c 'trap "" INT TERM HUP QUIT; while :; do sleep 600; done' &
    wait`;
  mkdirSync(bin);
  writeFileSync(join(bin, 'go'), go, { mode: 0o755 });
  const nowhere = 'http://127.0.0.1:9';
  return {
    PATH: `${bin}:${environment()['PATH']}`,
    XDG_CACHE_HOME: state,
    KUBEBUILDER_ASSETS: '',
    HTTPS_PROXY: nowhere,
    https_proxy: nowhere,
  };
}

async function shows(terminal: Terminal, text: string): Promise<void> {
  const early = terminal.ended.then((code) => Promise.reject(new Error(`ended with ${code}:\n${terminal.screen()}`)));
  early.catch(() => {});
  const seen = until(() => terminal.screen().includes(text), { what: `"${text}"`, deadlineMs: DEADLINE_MS });
  await Promise.race([seen, early]);
}

/** The end of a command is not the end of what it started: so the processes are looked at, not the command. */
async function nothingIsLeft(): Promise<void> {
  const isEmpty = () => left().processes.length === 0;
  await until(isEmpty, { what: 'the end of all processes', deadlineMs: 90_000 }).catch(() => {});
  expect(left()).toEqual({ processes: [], files: [] });
}

const servers = (name = NAME) =>
  until(() => recordedIn(name).has('kube-apiserver'), { what: 'the API server', deadlineMs: DEADLINE_MS });

const MOMENTS = {
  'while the servers start': (_: Terminal) => servers(),
  'during the demo': (terminal: Terminal) => shows(terminal, 'A small application'),
  'when the controller starts': (terminal: Terminal) => shows(terminal, '3. The controller'),
  'while it follows': (terminal: Terminal) => shows(terminal, 'Ctrl-C ends it'),
};

const ENDINGS = {
  'Ctrl-C': (terminal: Terminal) => terminal.press(CTRL_C),
  'Ctrl-C, again and again': (terminal: Terminal) => again(terminal),
  'Ctrl-\\': (terminal: Terminal) => terminal.press(CTRL_BACKSLASH),
  'a closed terminal': (terminal: Terminal) => terminal.close(),
  'SIGTERM to npm': () => send(npm(), 'SIGTERM'),
  'an API server that hangs, and Ctrl-C, again and again': (terminal: Terminal) => {
    send(recordedIn(NAME).get('kube-apiserver')?.pid ?? 0, 'SIGSTOP');
    again(terminal);
  },
};

/** Somebody who does not wait: a key every few milliseconds until it is over. */
function again(terminal: Terminal): void {
  const pressing = setInterval(() => terminal.press(CTRL_C), 25);
  void terminal.ended.then(() => clearInterval(pressing));
}

describe.skipIf(process.platform !== 'linux')('npm start leaves nothing behind', () => {
  test.each<[keyof typeof ENDINGS, keyof typeof MOMENTS]>([
    ['Ctrl-C', 'while the servers start'],
    ['Ctrl-C', 'during the demo'],
    ['Ctrl-C', 'when the controller starts'],
    ['Ctrl-C', 'while it follows'],
    ['Ctrl-C, again and again', 'while the servers start'],
    ['an API server that hangs, and Ctrl-C, again and again', 'while it follows'],
    ['Ctrl-\\', 'while the servers start'],
    ['a closed terminal', 'while the servers start'],
    ['a closed terminal', 'while it follows'],
    ['SIGTERM to npm', 'while the servers start'],
  ])('after %s %s', async (ending, moment) => {
    const terminal = npmStart(NAME);
    await MOMENTS[moment](terminal);
    ENDINGS[ending](terminal);
    await terminal.ended;
    await nothingIsLeft();
  });

  test.each(['Ctrl-C', 'Ctrl-C, again and again', 'Ctrl-\\', 'a closed terminal', 'SIGTERM to npm'] as const)(
    'after %s while a program is being built for it',
    async (ending) => {
      const terminal = npmStart(NAME, buildingForever());
      await shows(terminal, 'compiling, package 1 of at most 2: example.com/first');
      expect(terminal.screen()).toMatch(/the first time, etcd \S+, kubernetes \S+, kwok \S+ must be fetched/);
      ENDINGS[ending](terminal);
      await terminal.ended;
      await nothingIsLeft();
      const files = listed(join(state, 'attune', 'bin')).filter((file) => file !== '');
      expect(
        files.every((file) => /^etcd-[^/]+$/.test(file)),
        files.join(' '),
      ).toBe(true);
      expect(terminal.screen()).not.toContain('A real control plane');
    },
  );

  // A terminal would hang up on everybody in it.
  test.each(['SIGHUP', 'SIGKILL'] as const)('after %s to npm alone, which it passes on to nobody', async (signal) => {
    const program = spawn('npm', ['start', '--', '--name', NAME], {
      cwd: ROOT,
      env: { ...environment(), XDG_STATE_HOME: state },
      stdio: 'ignore',
    });
    await servers();
    program.kill(signal);
    await nothingIsLeft();
  });

  test.each(['default', 'other'])('after kill -9, when the next one has started: %s', async (name) => {
    const killed = npmStart('default');
    await servers('default');
    const pids = [tour(), npm()];
    expect(pids).not.toContain(0);
    for (const pid of pids) send(pid, 'SIGKILL');
    await killed.ended;
    const before = recordedIn('default').get('etcd')?.pid;
    const next = npmStart(name);
    await shows(next, 'clearing away the sandbox default, whose process');
    await until(() => recordedIn(name).has('etcd') && recordedIn(name).get('etcd')?.pid !== before, {
      what: 'the next one',
      deadlineMs: DEADLINE_MS,
    });
    // Not what is in the folders: of the one that starts, some go while they are read.
    expect(readdirSync(sandboxes()).filter((file) => name !== 'default' && file.startsWith('default'))).toEqual([]);
    next.press(CTRL_C);
    await next.ended;
    await nothingIsLeft();
  });
});
