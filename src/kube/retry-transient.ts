import { type BackoffLimits, fullJitter, pause } from '../runtime/backoff.ts';
import type { Clock } from '../runtime/clock.ts';
import { KubeError } from './kube-error.ts';

export interface RetryOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly retrying?: ((error: KubeError) => void) | undefined;
}

const BACKOFF = { baseMs: 200, capMs: 10_000 };
// A new credential should be noticed soon. This does not load the server: CredentialBackoff holds the calls back.
const RENEWAL = { baseMs: 1000, capMs: 2000 };

/** After a 401, which waits for a new credential, or after any other failure. */
export const backoffAfter = ({ status }: KubeError, usual: BackoffLimits): BackoffLimits =>
  status === 401 ? RENEWAL : usual;

/** How long to wait after failure number `failures` (from 1) in a row: as long as the server said, or longer. */
export const delayAfter = (error: KubeError, failures: number): number =>
  Math.max(error.retryAfterMs ?? 0, fullJitter(failures, backoffAfter(error, BACKOFF), Math.random));

/**
 * Whether the call may succeed a moment later: no answer, an overloaded server, a credential that somebody will renew, a
 * load balancer that gave up a connection on which it heard nothing (408).
 */
export const isTransient = ({ status }: KubeError): boolean =>
  status === 0 || status === 401 || status === 408 || status === 429 || status >= 500;

/** Retries until it succeeds, however long the server is away; throws what is not transient. */
export async function retryTransient<T>(work: () => Promise<T>, { clock, signal, retrying }: RetryOptions): Promise<T> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await work();
    } catch (error) {
      if (!KubeError.is(error) || !isTransient(error) || signal.aborted) throw error;
      retrying?.(error);
      await pause(clock, delayAfter(error, failures), signal);
    }
  }
}
