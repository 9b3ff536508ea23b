/** What was asked, in RBAC's words. */
export type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete';

export interface KubeErrorFields {
  readonly verb: Verb;
  readonly path: string;
  /** The HTTP status, or 0 where no answer arrived. */
  readonly status: number;
  /** The machine word of the Status body (`NotFound`, `Conflict`, `Expired` …), or one of {@link LocalReason}. */
  readonly reason: string;
  readonly detail?: string | undefined;
  readonly retryAfterMs?: number | undefined;
}

/**
 * Reasons of our own, where the API server had no say.
 *
 * `Unreachable`: no connection, or it broke. `Silent`: nothing arrived before the deadline. `TooLarge`: the answer is
 * bigger than we are ready to hold. `BadAnswer`: the answer is not what the API promises.
 */
export type LocalReason = 'Unreachable' | 'Silent' | 'TooLarge' | 'BadAnswer';

/** A call to the API server that did not succeed. Neither the message nor the fields carry bytes of a Secret. */
export class KubeError extends Error {
  override readonly name = 'KubeError';
  readonly verb: Verb;
  readonly path: string;
  readonly status: number;
  readonly reason: string;
  /** What the server, or who stands before it, had to say. */
  readonly detail: string | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(failure: KubeErrorFields) {
    const { verb, path, status, reason, detail, retryAfterMs } = failure;
    super(`${verb} ${path}: ${status === 0 ? '' : `${status} `}${reason}${detail ? `: ${detail}` : ''}`);
    this.verb = verb;
    this.path = path;
    this.status = status;
    this.reason = reason;
    this.detail = detail;
    this.retryAfterMs = retryAfterMs;
  }

  /** True for a KubeError with one of the reasons; without reasons, for any KubeError. */
  static is(error: unknown, ...reasons: readonly string[]): error is KubeError {
    return error instanceof KubeError && (reasons.length === 0 || reasons.includes(error.reason));
  }
}

/** The part of a Status object that we read. */
interface Status {
  readonly kind?: string;
  readonly code?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly details?: { readonly retryAfterSeconds?: number } | null;
}

// What apimachinery's StatusReason says for a code, for answers of proxies that know no Status.
const REASONS: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  406: 'NotAcceptable',
  409: 'Conflict',
  410: 'Gone',
  413: 'RequestEntityTooLarge',
  415: 'UnsupportedMediaType',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

// Who says more is mistaken, or its clock is.
const MAX_RETRY_AFTER_MS = 300_000;

/** Reads the refusal out of an answer: from the Status object where there is one, else from the bare HTTP status. */
export function refusal(
  call: { readonly verb: Verb; readonly path: string },
  status: number,
  body: unknown,
  waitMs?: number,
): KubeError {
  const answer = isStatus(body) ? body : undefined;
  return new KubeError({
    verb: call.verb,
    path: call.path,
    status,
    reason: answer?.reason || REASONS[status] || `Http${status}`,
    detail: mayQuoteSecret(call) ? undefined : answer?.message,
    retryAfterMs: bounded(waitMs ?? secondsOf(answer?.details?.retryAfterSeconds)),
  });
}

/** Retry-After is a number of seconds or, from proxies, a date; `nowMs` is the time by the clock of who answered. */
export function retryWait(header: string | undefined, nowMs: number): number | undefined {
  const text = header?.trim() ?? '';
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const at = text.endsWith(' GMT') ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : at - nowMs;
}

function secondsOf(seconds: unknown): number | undefined {
  return typeof seconds === 'number' && seconds >= 0 ? seconds * 1000 : undefined;
}

function bounded(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : Math.min(Math.max(0, ms), MAX_RETRY_AFTER_MS);
}

function isStatus(body: unknown): body is Status {
  return typeof body === 'object' && body !== null && 'kind' in body && body.kind === 'Status';
}

/** Validation, decoding and admission quote what was sent to them; answers to reads name only the object. */
function mayQuoteSecret(call: { readonly verb: Verb; readonly path: string }): boolean {
  return /\/secrets(\/|$)/.test(call.path) && ['create', 'update', 'patch'].includes(call.verb);
}
