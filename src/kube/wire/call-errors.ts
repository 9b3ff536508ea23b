import { KubeError, type LocalReason, type Verb } from '../kube-error.ts';
import { ConnectError, IdleTimeout } from './connect-error.ts';

/** What was asked, as far as a failure has to tell it. */
export interface CallContext {
  readonly verb: Verb;
  readonly path: string;
  readonly signal?: AbortSignal | undefined;
}

/** Why the caller called off; always an Error. */
export function abortReason(signal: AbortSignal | undefined): Error {
  return signal?.reason instanceof Error ? signal.reason : new Error('called off');
}

/** A failure of which the API server knows nothing. */
export function failure({ verb, path }: CallContext, reason: LocalReason, detail?: string): KubeError {
  return new KubeError({ verb, path, status: 0, reason, detail });
}

/** What a connection or the stream of a body threw, as what it means. */
export function toCallError(asked: CallContext, error: unknown): Error {
  if (asked.signal?.aborted) return abortReason(asked.signal);
  if (error instanceof KubeError) return error;
  if (error instanceof IdleTimeout) return failure(asked, 'Silent', error.message);
  return failure(asked, 'Unreachable', error instanceof ConnectError ? error.message : 'the answer broke off');
}

/** What a plugin or a file says of its failure may quote the credential: only what was made to be told is. */
export function toCredentialError(asked: CallContext, error: unknown): KubeError {
  if (error instanceof ConnectError) return failure(asked, 'Unreachable', `no credential: ${error.message}`);
  const code = String((error as NodeJS.ErrnoException | undefined)?.code);
  return failure(asked, 'Unreachable', /^E[A-Z0-9_]+$/.test(code) ? `no credential: ${code}` : 'no credential');
}

/** Who gives credentials knows nothing of the caller's signal, and may take as long as a plugin takes. */
export async function awaitCredential(
  asked: CallContext,
  given: Promise<string | undefined>,
): Promise<string | undefined> {
  const { signal } = asked;
  const called = Promise.withResolvers<never>();
  const callOff = () => called.reject(abortReason(signal));
  if (signal?.aborted) callOff();
  signal?.addEventListener('abort', callOff, { once: true });
  try {
    return await Promise.race([given, called.promise]);
  } catch (error) {
    throw signal?.aborted ? abortReason(signal) : toCredentialError(asked, error);
  } finally {
    signal?.removeEventListener('abort', callOff);
  }
}
