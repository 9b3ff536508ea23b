import type { KubeError } from '../../kube/kube-error.ts';
import { isOutage } from '../../kube/outages.ts';
import type { RetryHint } from '../../runtime/queue.ts';

/** What is to be waited for after a call that failed this way. */
export const setbackOf = (error: KubeError): RetryHint => ({
  atLeastMs: error.retryAfterMs,
  isOutage: isOutage(error),
});

// Our own credential, somebody else's write, too much at once: that passes.
const PASSING = new Set([401, 408, 409, 429]);

/** The server understood what we want, and does not want it: the same once more is of little use. */
export const isRefusal = ({ status }: KubeError): boolean => status >= 400 && status < 500 && !PASSING.has(status);
