import { type BackoffLimits, fullJitter, pause } from '../runtime/backoff.ts';
import type { Clock } from '../runtime/clock.ts';
import { KubeError } from './kube-error.ts';

export interface RetryOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly retrying?: ((error: KubeError) => void) | undefined;
}

const BACKOFF = { baseMs: 200, capMs: 10_000 };
// The server is asked more and more seldom whatever we do here; that there is another credential should be noticed soon.
const RENEWAL = { baseMs: 1000, capMs: 2000 };

/** How long to wait for a credential in the place of one that was refused, or for anything else that failed. */
export const backoffAfter = ({ status }: KubeError, usual: BackoffLimits): BackoffLimits =>
  status === 401 ? RENEWAL : usual;

/**
 * Whether the same call may well succeed a moment later: no answer, the server is out of breath, or our credential is not
 * good any more, and somebody renews it.
 */
export const isTransient = ({ status }: KubeError): boolean =>
  status === 0 || status === 401 || status === 429 || status >= 500;

/** Does what cannot be done without, however long the server is out of reach; what it refuses for good is thrown. */
export async function retryTransient<T>(work: () => Promise<T>, { clock, signal, retrying }: RetryOptions): Promise<T> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await work();
    } catch (error) {
      if (!KubeError.is(error) || !isTransient(error) || signal.aborted) throw error;
      retrying?.(error);
      const delayMs = fullJitter(failures, backoffAfter(error, BACKOFF), Math.random);
      await pause(clock, Math.max(error.retryAfterMs ?? 0, delayMs), signal);
    }
  }
}
