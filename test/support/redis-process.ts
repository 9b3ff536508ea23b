import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { LocalRedis } from '../../src/agent/redis/connection/local-redis.ts';
import type { Credential, Redis } from '../../src/agent/redis/connection/redis.ts';
import { RedisRefusal } from '../../src/agent/redis/connection/redis.ts';
import type { RedisTarget } from '../../src/agent/redis/connection/target.ts';
import type { TryServer } from '../../src/agent/redis/server/trial.ts';
import { until } from './wait.ts';

export interface RedisOptions {
  /** Lines of the start file; they come after the support's own, so that they win. Values are not quoted. */
  readonly directives?: readonly (readonly [key: string, value: string])[];
  /** Content of the ACL file, which is `<dir>/users.acl`; undefined: there is none. */
  readonly acl?: string | undefined;
  /** A data folder that outlives the server; without it there is one that goes with it. */
  readonly dir?: string;
  /** A loopback address on which it also listens, on port 6379: see {@link loopbackAddress}. */
  readonly host?: string;
  /** PEM; with it, `host` speaks TLS only. The files are `<dir>/tls.crt`, `tls.key`, `ca.crt`. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly ca: string };
  /** Tried in order whenever `send` connects; `requirepass` of the directives is tried anyway. */
  readonly credentials?: readonly Credential[];
  /** A redis-server under another name, or another one; by default the one of the machine. */
  readonly program?: string;
}

export interface TestRedis extends Redis, AsyncDisposable {
  /** The unix socket. */
  readonly path: string;
  readonly dir: string;
  readonly pid: number;
  /** What `send` logs in with when it connects: a test that changes passwords adds to it. */
  readonly credentials: Credential[];
  /** What it has logged so far. */
  log(): Promise<string>;
  /** Ends it with its children, SIGKILL unless told. Returns when it is gone; the second call does nothing. */
  stop(signal?: 'SIGKILL' | 'SIGTERM'): Promise<void>;
}

/** A redis-server did not come up; `words` are its own. */
export class StartFailed extends Error {
  readonly words: string;

  constructor(words: string) {
    super(`redis-server did not start:\n${words}`);
    this.words = words;
  }
}

/** Starts a real redis-server, which answers (or is loading) when this returns. Stop it in afterEach, or by `await using`. */
export async function startRedis(options: RedisOptions = {}): Promise<TestRedis> {
  // A socket's path may have 107 bytes, which the folders of some machines use up.
  const home = await mkdtemp('/tmp/rt-');
  const dir = options.dir ?? home;
  const path = join(home, 's');
  const logFile = join(home, 'log');
  await writeFile(join(home, 'redis.conf'), await startFile(options, path, dir), { mode: 0o600 });
  const output = openSync(logFile, 'a');
  const server = spawn(options.program ?? 'redis-server', [join(home, 'redis.conf')], {
    cwd: dir,
    detached: true,
    stdio: ['ignore', output, output],
  });
  closeSync(output);
  await once(server, 'spawn');
  const pid = server.pid ?? 0;
  const guard = guardOf(pid, home);

  const password = options.directives?.findLast(([key]) => key === 'requirepass')?.[1];
  const credentials: Credential[] = [
    ...(options.credentials ?? []),
    ...(password ? [{ user: 'default', password }] : []),
    { user: 'default', password: undefined },
  ];
  const target: RedisTarget = { path };
  const redis = new LocalRedis({ target: () => target, credentials: () => credentials });
  const log = (): Promise<string> => readFile(logFile, 'utf8');
  const stop = async (signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> => {
    redis.close();
    await ended(server, signal);
    guard.kill('SIGKILL');
    await rm(home, { recursive: true, force: true });
  };
  try {
    await until(() => (server.exitCode ?? server.signalCode) !== null || answers(redis), {
      what: 'redis-server answers',
      deadlineMs: 20_000,
    });
    if ((server.exitCode ?? server.signalCode) !== null) throw new StartFailed(await log());
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    path,
    dir,
    pid,
    credentials,
    send: (...words) => redis.send(...words),
    log,
    stop,
    [Symbol.asyncDispose]: () => stop(),
  };
}

/** Proves start files with {@link startRedis}, for steps that ask for such a thing. */
export function tryServerForTests(): TryServer {
  return async ({ directives, acl }, ask) => {
    // Whatever the trial's ACL says, and whatever password it sets, the trial itself gets in.
    const own = { user: 'trial', password: 'trial' };
    const door = acl === undefined ? [['user', 'trial on >trial ~* &* +@all'] as const] : [];
    let redis: TestRedis | undefined;
    try {
      redis = await startRedis({
        directives: [...directives, ...door],
        acl: acl === undefined ? undefined : `${acl.trimEnd()}\nuser trial on >trial ~* &* +@all\n`,
        credentials: [own],
      });
      return { ok: true, value: await ask(redis) };
    } catch (error) {
      if (error instanceof StartFailed) return { ok: false, words: error.words };
      throw error;
    } finally {
      await redis?.stop();
    }
  };
}

let addresses = 0;

/** A loopback address that no other test uses at the same time: all of 127.0.0.0/8 is this machine. */
export function loopbackAddress(): string {
  addresses += 1;
  const number = (process.pid * 61 + addresses) % (250 * 250);
  return `127.${100 + Math.floor(Math.random() * 100)}.${1 + Math.floor(number / 250)}.${1 + (number % 250)}`;
}

/** Redis answers, be it with a refusal: NOAUTH, LOADING. */
async function answers(redis: Redis): Promise<boolean> {
  try {
    await redis.send('PING');
    return true;
  } catch (error) {
    return error instanceof RedisRefusal;
  }
}

async function startFile(options: RedisOptions, path: string, dir: string): Promise<string> {
  const lines: [string, string][] = [
    ['unixsocket', path],
    ['dir', dir],
    ['save', ''],
    ['appendonly', 'no'],
    ['daemonize', 'no'],
    ['port', options.host !== undefined && !options.tls ? '6379' : '0'],
  ];
  if (options.host !== undefined) lines.push(['bind', options.host]);
  if (options.tls) {
    for (const [file, pem] of [
      ['tls.crt', options.tls.cert],
      ['tls.key', options.tls.key],
      ['ca.crt', options.tls.ca],
    ] as const) {
      await writeFile(join(dir, file), pem, { mode: 0o600 });
    }
    lines.push(['tls-port', '6379'], ['tls-auth-clients', 'optional'], ['tls-replication', 'yes']);
    lines.push(['tls-cert-file', join(dir, 'tls.crt')], ['tls-key-file', join(dir, 'tls.key')]);
    lines.push(['tls-ca-cert-file', join(dir, 'ca.crt')]);
  }
  if (options.acl !== undefined) {
    await writeFile(join(dir, 'users.acl'), options.acl, { mode: 0o600 });
    lines.push(['aclfile', join(dir, 'users.acl')]);
  }
  return [...lines, ...(options.directives ?? [])].map(([key, value]) => `${key} ${quoted(key, value)}\n`).join('');
}

/** Directives that are no settings, and take several words. */
const SEVERAL_WORDS = ['user', 'rename-command', 'loadmodule', 'replicaof', 'slaveof', 'include'];

function quoted(key: string, value: string): string {
  if (SEVERAL_WORDS.includes(key) || /^[\w./:*+-]+$/.test(value)) return value;
  return `"${value.replace(/[\\"]/g, '\\$&').replace(/\n/g, '\\n').replace(/\r/g, '\\r')}"`;
}

/** Ends the server and removes its folder when this process dies, be it by SIGKILL: its pipe ends then. */
function guardOf(pid: number, home: string): ChildProcess {
  const guard = spawn('sh', ['-c', 'read -r _; kill -9 "-$1"; rm -rf "$2"', 'guard', String(pid), home], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  guard.unref();
  (guard.stdin as Socket | null)?.unref();
  return guard;
}

/** Its group with it: a child that saves would rename its file over that of the next server. */
async function ended(server: ChildProcess, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
  const pid = server.pid ?? 0;
  if ((server.exitCode ?? server.signalCode) === null) {
    const exit = once(server, 'exit');
    server.kill(signal);
    await exit;
  }
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // Nobody is left.
  }
}
