import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../../../runtime/clock.ts';
import type { Log } from '../../../telemetry/log.ts';
import type { RedisAgentSettings } from '../settings.ts';
import { accepts, answersOn } from './answers.ts';
import { endInWords, type Followed, followStranger, type ServerEnd } from './processes/follow.ts';
import { killOrphans, lookAround } from './processes/look-around.ts';
import { killGroup, type Seen, signalTo } from './processes/process-table.ts';
import { ServerRecord } from './server-record.ts';
import { spawnServer } from './spawn-server.ts';
import { StartFiles } from './start-files.ts';
import { placeProblems, startProblem } from './start-problems.ts';
import { sweepOnce } from './throw-away/trial-folder.ts';

export interface ServerProcessOptions {
  readonly settings: RedisAgentSettings;
  readonly log: Log;
  readonly clock: Clock;
  /** The server has ended, and neither `stop` nor `start` waits for that. Nothing of it is left. */
  readonly onEnd: (end: ServerEnd) => void;
}

export type StartResult =
  | {
      readonly ok: true;
      /** The new file did not work, and the one before it did; `words` say why. */
      readonly usedLastGood: boolean;
      /** There was a server on the folder already: it has not read the new file. */
      readonly adopted: boolean;
      readonly words?: string;
    }
  | { readonly ok: false; readonly words: string };

/** Why a server did not start, and whether it may be because of its file. */
interface Failure {
  readonly words: string;
  readonly ofFile: boolean;
}

/** How long a server that an agent was about to start when it was killed may take to be seen. */
const SPAWN_MS = 2000;
/** How long a server may take to listen on its socket. Loading its data is no reason: it says so there. */
const LISTEN_MS = 60_000;
/** One that was found is past the first moments of its start, in which it does not listen yet. */
const ADOPT_MS = 3000;
const LOOK_EVERY_MS = 10;

/**
 * The redis-server of a parent.
 *
 * Invariants
 *  1. There is one server on the data folder at most, and none starts while a child of a dead one is still there.
 *  2. redis.conf is the file that the living server was started with: it is written only while none lives.
 *  3. A server gets one signal in its life, from whichever agent; after that only SIGKILL.
 */
export class ServerProcess {
  readonly #options: ServerProcessOptions;
  readonly #record: ServerRecord;
  readonly #files: StartFiles;
  #server: Followed | undefined;
  /** Whoever waits for the end of a server is not told of it. */
  #awaited: Followed | undefined;
  #starting: Promise<StartResult> | undefined;
  #stopping: Promise<'ended' | 'killed'> | undefined;
  #spawning: Promise<unknown> | undefined;
  #isClosed = false;

  constructor(options: ServerProcessOptions) {
    this.#options = options;
    this.#record = new ServerRecord(options.settings.paths.stateDir, options.log);
    this.#files = new StartFiles(options.settings.paths.dataDir);
  }

  /** Also while it starts, or is being stopped. */
  get running(): boolean {
    return this.#server !== undefined;
  }

  get pid(): number | undefined {
    return this.#server?.process.pid;
  }

  /** Takes over the server that an earlier agent has started on this folder, and clears away what dead ones have left. */
  async adopt(): Promise<boolean> {
    if (this.#server) return true;
    const { log, settings } = this.#options;
    await sweepOnce(); // such a server may have the port that the real one needs
    const [found, ...others] = await this.#find();
    for (const other of others) {
      log.error('a second redis-server works on the data folder and is killed', { pid: other.pid });
      // In order it would remove the socket, which is no longer its own, and save over what the newer one saves.
      await killGroup(other.group);
    }
    if (!found) return false;
    const server = followStranger(found);
    this.#follow(server);
    await this.#record.runs(found);
    if (!(await this.#within(ADOPT_MS, () => accepts(settings.paths.socket)))) {
      if (this.#server !== server) return false; // it has ended meanwhile
      log.error('redis-server does not listen on the socket of this agent and is stopped', { pid: found.pid });
      await this.stop(settings.stopTimeoutMs);
      return false;
    }
    if (await answersOn(settings.paths.socket)) await this.#keepAsGood();
    log.info('redis-server of an earlier agent is taken over', { pid: found.pid });
    return true;
  }

  /**
   * Starts a server with this text as its start file, or with the last one that worked. Returns when it answers, if only
   * with NOAUTH or LOADING. Where a server runs already, it waits for that one. `words` follow the file on its command line,
   * and count more than the file.
   */
  start(startFile: string, words: readonly string[] = []): Promise<StartResult> {
    this.#starting ??= this.#start(startFile, words).finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  /** SIGTERM, and SIGKILL for the whole group at the deadline. Returns when all of it is gone. */
  stop(deadlineMs: number): Promise<'ended' | 'killed'> {
    if (!this.#server) return Promise.resolve('ended');
    this.#stopping ??= this.#end(this.#server, deadlineMs).finally(() => {
      this.#stopping = undefined;
    });
    return this.#stopping;
  }

  /** From now on nothing is started; what is being started at this moment is known when this returns. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#spawning;
  }

  /** Sends a signal to the server alone, unless it got one before: a second one can make it end without saving. */
  signal(name: 'SIGINT' | 'SIGTERM'): void {
    if (this.#server) void this.#signal(this.#server.process, name);
  }

  async #start(startFile: string, commandLine: readonly string[]): Promise<StartResult> {
    await this.#stopping;
    const { settings, log } = this.#options;
    const problems = await placeProblems(settings.paths);
    if (problems.length > 0) return { ok: false, words: problems.join('; ') };
    if (await this.adopt()) {
      const words = await this.#silence();
      return words === undefined ? { ok: true, usedLastGood: false, adopted: true } : { ok: false, words };
    }
    const failure = await this.#launch(startFile, commandLine);
    if (!failure) return { ok: true, usedLastGood: false, adopted: false };
    const { words } = failure;
    const good = failure.ofFile ? await this.#files.good() : undefined;
    if (good === undefined || good === startFile) return { ok: false, words };
    log.error('redis-server does not start with the new file, the last good one is used', { words });
    const second = await this.#launch(good, commandLine);
    if (!second) return { ok: true, usedLastGood: true, adopted: false, words };
    const isSame = second.words === words;
    return { ok: false, words: isSame ? words : `${words}; with the last good start file: ${second.words}` };
  }

  /** Starts a server with this file; undefined when it answers, otherwise why it does not. */
  async #launch(startFile: string, commandLine: readonly string[]): Promise<Failure | undefined> {
    const { settings } = this.#options;
    const { dataDir } = settings.paths;
    const problem = await this.#files.write(startFile).then(
      () => undefined,
      (error: Error) => error.message,
    );
    if (problem !== undefined) return { words: `${this.#files.path} cannot be written: ${problem}`, ofFile: true };
    await this.#record.starting();
    const around = await lookAround(dataDir, settings.redisServer);
    await killOrphans(around);
    const there = [...around.servers, ...around.foreign].map(({ pid }) => pid);
    if (there.length > 0) {
      const words = `a redis-server that this agent did not start works on ${dataDir}: end it (pid ${there.join(', ')})`;
      return { words, ofFile: false };
    }
    const server = await this.#spawn([this.#files.path, ...commandLine]);
    if (typeof server === 'string') {
      await this.#record.nothingRuns();
      return { words: server, ofFile: false };
    }
    await this.#record.runs(server.process);
    const silence = await this.#silence();
    if (this.#server === server) {
      if (this.#stopping === undefined) this.#awaited = undefined;
      if (silence === undefined) await this.#keepAsGood();
      return silence === undefined ? undefined : { words: silence, ofFile: false };
    }
    const end = endInWords(await server.gone);
    if (this.#record.wasSignalled(server.process)) {
      return { words: 'redis-server was stopped while it started', ofFile: false };
    }
    const why = await startProblem(settings, startFile);
    return { words: `redis-server ${end} before it answered: ${why}`, ofFile: true };
  }

  /** Not after `close`: nobody would stop it. */
  async #spawn(args: readonly string[]): Promise<Followed | string> {
    if (this.#isClosed) return 'redis-server is not started any more: the agent ends';
    const { redisServer, paths } = this.#options.settings;
    const spawning = spawnServer(redisServer, args, paths.dataDir);
    this.#spawning = spawning;
    const server = await spawning;
    if (typeof server !== 'string') {
      this.#awaited = server;
      this.#follow(server);
    }
    return server;
  }

  /** Why nobody answers on the socket though a server runs, after a long time; undefined as soon as it answers. */
  async #silence(): Promise<string | undefined> {
    const { socket } = this.#options.settings.paths;
    if (await this.#within(LISTEN_MS, () => answersOn(socket))) return undefined;
    if (!this.#server) return 'redis-server ended before it answered';
    return `redis-server (pid ${this.pid}) runs, and does not answer on ${socket} for ${LISTEN_MS / 1000} s`;
  }

  /** Asks until it is so, for as long as the server lives. */
  async #within(ms: number, condition: () => Promise<boolean>): Promise<boolean> {
    const { clock } = this.#options;
    const deadline = clock.now() + ms;
    while (this.#server && clock.now() < deadline) {
      if (await condition()) return this.#server !== undefined;
      await delay(LOOK_EVERY_MS);
    }
    return false;
  }

  /** Servers on the folder, the newest first: it has taken the socket over from the others. */
  async #find(): Promise<readonly Seen[]> {
    const { settings, clock, log } = this.#options;
    const known = this.#record.living;
    if ((await placeProblems(settings.paths)).length > 0) return known ? [known] : [];
    const deadline = clock.now() + (this.#record.wasStarting ? SPAWN_MS : 0);
    for (;;) {
      const around = await lookAround(settings.paths.dataDir, settings.redisServer);
      if (around.orphans.length > 0) log.warn('children of a dead redis-server are killed');
      await killOrphans(around);
      if (around.servers.length > 0) return around.servers;
      if (known) return [known];
      if (clock.now() >= deadline) return [];
      await delay(LOOK_EVERY_MS);
    }
  }

  #follow(server: Followed): void {
    this.#server = server;
    void server.gone.then(async ({ code, signal }) => {
      const { process } = server;
      const end = { pid: process.pid, code, signal, asked: this.#record.wasSignalled(process) };
      const isAwaited = this.#awaited === server;
      this.#server = undefined;
      this.#awaited = undefined;
      if (!isAwaited) this.#options.onEnd(end);
    });
  }

  async #end(server: Followed, deadlineMs: number): Promise<'ended' | 'killed'> {
    const { clock, log } = this.#options;
    if (this.#server === server) this.#awaited = server;
    await this.#signal(server.process, 'SIGTERM');
    let callOff = (): void => {};
    const late = new Promise<'late'>((resolve) => {
      callOff = clock.after(deadlineMs, () => resolve('late'));
    });
    const outcome = await Promise.race([server.gone, late]);
    callOff();
    if (outcome !== 'late') return 'ended';
    log.warn('redis-server did not end in time and is killed', { pid: server.process.pid, deadlineMs });
    await killGroup(server.process.group);
    await server.gone;
    return 'killed';
  }

  async #signal(server: Seen, name: 'SIGINT' | 'SIGTERM'): Promise<void> {
    if (this.#record.wasSignalled(server)) return;
    // Redis ignores a second SIGTERM, so that one is noted after it was sent: a note of one that never was would cost
    // the final save. A second SIGINT costs it too, so that one is noted before.
    if (name === 'SIGTERM') signalTo(server, name);
    await this.#record.signalled(server, name);
    if (name === 'SIGINT') signalTo(server, name);
  }

  /** Where the disk is full, the file before it stays the last good one. */
  async #keepAsGood(): Promise<void> {
    const { log } = this.#options;
    await this.#files
      .keepAsGood()
      .catch((error: Error) => log.warn('the last good start file could not be kept', { error: error.message }));
  }
}
