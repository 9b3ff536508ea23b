import type { KubeError } from '../../kube/kube-error.ts';
import { isOutage } from '../../kube/outages.ts';
import type { RetryHint } from '../../runtime/queue.ts';

/** What is to be waited for after a call that failed this way. */
export const setbackOf = (error: KubeError): RetryHint => ({
  atLeastMs: error.retryAfterMs,
  isOutage: isOutage(error),
});

// The credential, a timeout, another writer, too many requests: these pass.
const TRANSIENT = new Set([401, 408, 409, 429]);

/** The server refuses the request itself: to send it again is of little use. */
export const isRefusal = ({ status }: KubeError): boolean => status >= 400 && status < 500 && !TRANSIENT.has(status);
