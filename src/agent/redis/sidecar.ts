import { readFileSync } from 'node:fs';
import { parseInfo } from '../../domain/redis/info.ts';
import { pause } from '../../runtime/backoff.ts';
import type { Clock } from '../../runtime/clock.ts';
import { identityOf, isAlive, type ProcessIdentity } from '../../runtime/process-identity.ts';
import type { Redis } from './connection/redis.ts';

const LOOK_MS = 50;

/** A Redis that somebody else has started: it can be ended only where the containers share their processes. */
export class ForeignServer {
  readonly #clock: Clock;
  /** The process that was told to end; a second signal could cost data. */
  #told: ProcessIdentity | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** One SIGTERM, and SIGKILL at the deadline; false where the process cannot be seen. */
  async stop(redis: Redis, deadlineMs: number): Promise<boolean> {
    const { identity, isNew } = await this.#signal(redis, 'SIGTERM');
    if (!identity || !isNew) return identity !== undefined;
    const until = this.#clock.now() + deadlineMs;
    const never = new AbortController().signal;
    while (isAlive(identity) && this.#clock.now() < until) await pause(this.#clock, LOOK_MS, never);
    if (isAlive(identity)) process.kill(identity.pid, 'SIGKILL');
    return true;
  }

  /** One SIGINT, and nothing after it. */
  async interrupt(redis: Redis): Promise<void> {
    await this.#signal(redis, 'SIGINT');
  }

  async #signal(
    redis: Redis,
    name: NodeJS.Signals,
  ): Promise<{ identity: ProcessIdentity | undefined; isNew: boolean }> {
    const info = parseInfo(String(await redis.send('INFO', 'server')));
    const identity = visible(Number(info.get('process_id')));
    const isNew = this.#told?.startedAt !== identity?.startedAt || this.#told?.pid !== identity?.pid;
    if (identity && isNew) {
      this.#told = identity;
      process.kill(identity.pid, name);
    }
    return { identity, isNew };
  }
}

/** The pid is of Redis's own view: in another view it is another process, or none. */
function visible(pid: number): ProcessIdentity | undefined {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === 'redis-server' ? identityOf(pid) : undefined;
  } catch {
    return undefined;
  }
}
