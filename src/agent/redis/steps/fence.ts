import { type Fence, fenceOf } from '../../../domain/redis/fence.ts';
import type { Clock } from '../../../runtime/clock.ts';
import type { Log } from '../../../telemetry/log.ts';
import { messageOf } from '../../run-agent.ts';
import { StateFile } from '../../state/state-file.ts';
import type { Redis } from '../connection/redis.ts';
import { News } from '../status/news.ts';

interface FenceState {
  readonly fenced: boolean;
  /** The value of `min-replicas-to-write` from before writes were closed; null: they are open. */
  readonly before: string | null;
}

// More replicas than anybody has: Redis refuses writes at once with NOREPLICAS.
const CLOSED = '1000';
const KEY = 'min-replicas-to-write';
// A Redis that hangs must not delay the signal.
const CLOSE_MS = 1000;

/** Whether this pod is fenced, also after the agent was started anew, and whether writes are closed. */
export class FenceDecision {
  readonly #state: StateFile<FenceState>;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #news = new News();
  #isComing = false;
  #hasLooked = false;

  constructor(stateDir: string, log: Log, clock: Clock) {
    this.#state = new StateFile<FenceState>(stateDir, 'fence', { fenced: false, before: null });
    this.#log = log;
    this.#clock = clock;
  }

  get isFenced(): boolean {
    return this.#state.value.fenced;
  }

  /** A fence was seen, and the pass that acts on it has not begun: whatever is under way must not open writes again. */
  get isComing(): boolean {
    return this.#isComing;
  }

  /** Closes writes at once, without waiting for a pass. */
  comes(redis: Redis): void {
    this.#isComing = true;
    void this.closeWrites(redis);
  }

  /** What the annotation decides; unreadable, the last decision stays. `changed`: it was otherwise before. */
  async decide(
    annotation: string | undefined,
    pod: string,
  ): Promise<{ readonly fence: Fence; readonly changed: boolean }> {
    const fence = fenceOf(annotation, pod);
    this.#isComing = false;
    const fenced = fence === 'unreadable' ? this.isFenced : fence === 'fenced';
    const changed = fenced !== this.isFenced;
    if (changed) await this.#keep({ ...this.#state.value, fenced });
    return { fence, changed };
  }

  /** No write is accepted from now on, as far as Redis answers. False: it did not. */
  async closeWrites(redis: Redis): Promise<boolean> {
    const closing = this.#close(redis).then(
      () => true,
      (error: unknown) => {
        this.#news.about('closing', messageOf(error), (why) =>
          this.#log.warn('writes could not be closed', { error: why }),
        );
        return false;
      },
    );
    const late = Promise.withResolvers<boolean>();
    const callOff = this.#clock.after(CLOSE_MS, () => late.resolve(false));
    const isClosed = await Promise.race([closing, late.promise]);
    callOff();
    return isClosed;
  }

  async #close(redis: Redis): Promise<void> {
    if (this.#state.value.before === null) {
      const [, now] = (await redis.send('CONFIG', 'GET', KEY)) as readonly string[];
      // Known before it is done: whoever comes after a kill has to be able to undo it.
      await this.#keep({ ...this.#state.value, before: now === undefined || now === CLOSED ? '0' : now });
    }
    await redis.send('CONFIG', 'SET', KEY, CLOSED);
  }

  /** Accepts writes again, if it was we who closed them, be it an agent whose notes are lost. */
  async openWrites(redis: Redis): Promise<void> {
    const { before } = this.#state.value;
    if (this.#isComing || (before === null && this.#hasLooked)) return;
    const [, now] = (await redis.send('CONFIG', 'GET', KEY)) as readonly string[];
    if (this.#isComing) return;
    if (now === CLOSED) await redis.send('CONFIG', 'SET', KEY, before ?? '0');
    this.#hasLooked = true;
    if (before !== null) await this.#keep({ ...this.#state.value, before: null });
  }

  /** It counts in any case; a disk that is full must not keep a pod from being fenced. */
  async #keep(state: FenceState): Promise<void> {
    await this.#state.save(state).catch((error) => {
      this.#log.error('whether this pod is fenced cannot be kept', { error: messageOf(error) });
    });
  }
}
