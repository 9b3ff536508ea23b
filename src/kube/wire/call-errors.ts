import { KubeError, type LocalReason } from '../kube-error.ts';
import { ConnectError, IdleTimeout } from './connect-error.ts';
import type { Call } from './transport.ts';

/** Why the caller aborted; always an Error. */
export function abortReason(signal: AbortSignal | undefined): Error {
  return signal?.reason instanceof Error ? signal.reason : new Error('called off');
}

/** An error that the API server knows nothing of. */
export function localError({ verb, path }: Call, reason: LocalReason, detail?: string): KubeError {
  return new KubeError({ verb, path, status: 0, reason, detail });
}

/** The KubeError for what a connection threw, or the caller's own reason where the caller aborted. */
export function toCallError(call: Call, error: unknown): Error {
  if (call.signal?.aborted) return abortReason(call.signal);
  if (error instanceof KubeError) return error;
  if (error instanceof IdleTimeout) return localError(call, 'Silent', error.message);
  return localError(call, 'Unreachable', error instanceof ConnectError ? error.message : 'the answer broke off');
}

/** The message of a plugin or of a file error may quote the credential: only that of a ConnectError is used. */
export function toCredentialError(call: Call, error: unknown): KubeError {
  if (error instanceof ConnectError) return localError(call, 'Unreachable', `no credential: ${error.message}`);
  const code = String((error as NodeJS.ErrnoException | undefined)?.code);
  return localError(call, 'Unreachable', /^E[A-Z0-9_]+$/.test(code) ? `no credential: ${code}` : 'no credential');
}

/** Waits for a credential, but no longer than the caller does: a plugin may take a minute and knows no signal. */
export async function awaitCredential(call: Call, given: Promise<string | undefined>): Promise<string | undefined> {
  const { signal } = call;
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(abortReason(signal));
  if (signal?.aborted) onAbort();
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([given, aborted.promise]);
  } catch (error) {
    throw signal?.aborted ? abortReason(signal) : toCredentialError(call, error);
  } finally {
    signal?.removeEventListener('abort', onAbort);
  }
}
