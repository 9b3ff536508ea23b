import { fullJitter, pause } from '../runtime/backoff.ts';
import type { Clock } from '../runtime/clock.ts';
import { KubeError } from './kube-error.ts';

export interface Patience {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly retrying?: ((error: KubeError) => void) | undefined;
}

const BACKOFF = { baseMs: 200, capMs: 10_000 };

/** Whether the same call may well succeed a moment later: no answer, or the server is out of breath. */
export const isTransient = ({ status }: KubeError): boolean => status === 0 || status === 429 || status >= 500;

/** Does what cannot be done without, however long the server is out of reach; what it refuses for good is thrown. */
export async function patiently<T>(work: () => Promise<T>, { clock, signal, retrying }: Patience): Promise<T> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await work();
    } catch (error) {
      if (!KubeError.is(error) || !isTransient(error) || signal.aborted) throw error;
      retrying?.(error);
      await pause(clock, Math.max(error.retryAfterMs ?? 0, fullJitter(failures, BACKOFF, Math.random)), signal);
    }
  }
}
