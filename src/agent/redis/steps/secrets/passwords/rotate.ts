import { nextTurn, type Others, type Turn } from '../../../../../domain/redis/credentials/next-turn.ts';
import { enter, proven, type Rotation } from '../../../../../domain/redis/credentials/rotation.ts';
import { formatTime } from '../../../../../domain/text/rfc3339.ts';
import type { Clock } from '../../../../../runtime/clock.ts';

/** What a rotation does to the world. `prove` and `use` tell why it is not possible yet, or nothing when it is done. */
export interface RotationActs {
  readonly prove: () => Promise<string | undefined>;
  readonly use: (used: Rotation) => Promise<string | undefined>;
  readonly drop: (settled: Rotation) => Promise<void>;
  readonly save: (rotation: Rotation) => Promise<void>;
}

export interface RotationFacts extends Others {
  /** How long earlier passwords count after everybody uses the newest. */
  readonly overlapMs: number;
  readonly clock: Clock;
}

export interface Advance {
  readonly rotation: Rotation;
  /** What is waited for. */
  readonly message?: string | undefined;
  readonly wakeAfterMs?: number | undefined;
}

const RETRY_MS = 2000;

/** Takes as many turns of a rotation as are possible now. */
export class Rotator {
  /** When all pods were first seen to use the newest password, by a clock that nobody sets. */
  #allUsed: { readonly password: string | undefined; readonly at: number } | undefined;

  async advance(from: Rotation, facts: RotationFacts, acts: RotationActs): Promise<Advance> {
    let rotation = from;
    for (;;) {
      const turn = nextTurn(rotation, facts);
      if (turn.kind === 'rest') return { rotation };
      if (turn.kind === 'halt') return { rotation: await this.#forget(rotation, acts) };
      if (turn.kind === 'wait') return { rotation: await this.#forget(rotation, acts), message: waitingFor(turn) };
      const taken = await (turn.kind === 'drop'
        ? this.#drop(rotation, facts, acts)
        : go(turn.kind, { rotation, nowMs: facts.clock.wall() }, acts));
      if (taken.message !== undefined) return taken;
      rotation = taken.rotation;
    }
  }

  async #drop(rotation: Rotation, { overlapMs, clock }: RotationFacts, acts: RotationActs): Promise<Advance> {
    const waiting = rotation.allUsedMs === undefined ? { ...rotation, allUsedMs: clock.wall() } : rotation;
    if (waiting !== rotation) {
      this.#allUsed = undefined;
      await acts.save(waiting);
    }
    const remainingMs = overlapMs - this.#allUsedForMs(waiting, clock);
    if (remainingMs > 0) {
      const end = formatTime(((waiting.allUsedMs ?? 0) + overlapMs) / 1000);
      return { rotation: waiting, message: `earlier passwords are accepted until ${end}`, wakeAfterMs: remainingMs };
    }
    const settled = enter(waiting, 'Settled', clock.wall());
    await acts.drop(settled);
    await acts.save(settled);
    return { rotation: settled };
  }

  /** After a restart of the agent only the wall clock is left to tell; whoever sets it back makes the overlap longer. */
  #allUsedForMs({ accepted, allUsedMs = 0 }: Rotation, clock: Clock): number {
    const password = accepted.at(-1);
    if (this.#allUsed?.password !== password) {
      const ago = Math.max(0, clock.wall() - allUsedMs);
      this.#allUsed = { password, at: clock.now() - ago };
    }
    return clock.now() - (this.#allUsed?.at ?? 0);
  }

  /** A pod has joined that does not use it, or may have: the overlap begins again when all do. */
  async #forget(rotation: Rotation, acts: RotationActs): Promise<Rotation> {
    this.#allUsed = undefined;
    if (rotation.allUsedMs === undefined) return rotation;
    const { allUsedMs: _, ...rest } = rotation;
    await acts.save(rest);
    return rest;
  }
}

async function go(
  turn: 'prove' | 'use',
  { rotation, nowMs }: { readonly rotation: Rotation; readonly nowMs: number },
  acts: RotationActs,
): Promise<Advance> {
  const next = turn === 'prove' ? proven(rotation, nowMs) : enter(rotation, 'Used', nowMs);
  const why = await (turn === 'prove' ? acts.prove() : acts.use(next));
  if (why !== undefined) return { rotation, message: why, wakeAfterMs: RETRY_MS };
  await acts.save(next);
  return { rotation: next };
}

const waitingFor = ({ pods, to }: Extract<Turn, { kind: 'wait' }>): string =>
  `waits for ${pods.join(', ')} to ${to} the new password`;
