import type { RotationPhase } from '../cluster-view.ts';

/** How far a pod is with the passwords of its default user. */
export interface Rotation {
  /** SHA-256 of every password that is to open this Redis, the newest last. */
  readonly accepted: readonly string[];
  /** Missing: no login has shown yet that the newest one counts. */
  readonly phase?: RotationPhase | undefined;
  /** When the phase began, by the wall clock. */
  readonly sinceMs?: number | undefined;
  /** Since when all pods were seen to use the newest one, by the wall clock of this pod. */
  readonly allUsedMs?: number | undefined;
}

/**
 * The Secret holds this password. `found` are the passwords that a Redis has which nobody has rotated yet: they are in
 * use, so they go the way of every earlier password instead of ending at once.
 */
export function accept(rotation: Rotation | undefined, password: string, found: readonly string[] = []): Rotation {
  if (rotation?.accepted.at(-1) === password) return rotation;
  const earlier = (rotation?.accepted ?? found).filter((other) => other !== password);
  return { accepted: [...earlier, password] };
}

/** A login has shown that the newest password counts. Without an earlier one there is nothing to rotate. */
export const proven = (rotation: Rotation, nowMs: number): Rotation =>
  enter(rotation, rotation.accepted.length > 1 ? 'Accepted' : 'Settled', nowMs);

/** A new phase begins; with Settled every earlier password is gone. */
export const enter = ({ accepted }: Rotation, phase: RotationPhase, nowMs: number): Rotation => ({
  accepted: phase === 'Settled' ? accepted.slice(-1) : accepted,
  phase,
  sinceMs: nowMs,
});
