import { visible } from '../runtime/visible.ts';

/** As RBAC calls what a request does. */
export type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete';

/**
 * Reasons of our own, for calls that the API server has not answered.
 *
 * `Unreachable`: no connection, or it broke. `Silent`: nothing arrived in time. `TooLarge`: the answer is over our limit.
 * `BadAnswer`: the answer is not what the API promises.
 */
export type LocalReason = 'Unreachable' | 'Silent' | 'TooLarge' | 'BadAnswer';

/** A call to the API server that did not succeed. Neither the message nor the fields carry bytes of a Secret. */
export class KubeError extends Error {
  override readonly name = 'KubeError';
  readonly verb: Verb;
  readonly path: string;
  /** The HTTP status, or 0 where no answer arrived. */
  readonly status: number;
  /** The reason of the Status object (`NotFound`, `Conflict`, `Expired` …), or a {@link LocalReason}. */
  readonly reason: string;
  /** The message of the server, or of a proxy before it, on one line. */
  readonly detail: string | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(fields: Pick<KubeError, 'verb' | 'path' | 'status' | 'reason'> & Partial<KubeError>) {
    const { verb, path, status, reason, detail, retryAfterMs } = fields;
    // On one line, whatever the server or a proxy says.
    super(visible(`${verb} ${path}: ${status === 0 ? '' : `${status} `}${reason}${detail ? `: ${detail}` : ''}`));
    this.verb = verb;
    this.path = path;
    this.status = status;
    this.reason = reason;
    this.detail = detail === undefined ? undefined : visible(detail);
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
  readonly reason?: string;
  readonly message?: string;
  readonly details?: { readonly retryAfterSeconds?: number } | null;
}

// apimachinery's StatusReason by code, for answers of proxies, which have no Status object.
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

// Errors of validation quote what was sent, and a value may have a megabyte. Reasons are words.
const MAX_DETAIL = 2048;
const MAX_REASON = 64;

/** Copied, because a slice keeps the whole long string in memory. */
const shortened = (text: string): string =>
  text.length <= MAX_DETAIL ? text : Buffer.from(`${text.slice(0, MAX_DETAIL - 1)}…`).toString();

// More than this is a mistake, or a wrong clock.
const MAX_RETRY_AFTER_MS = 300_000;

/** The error for an answer with a status other than 2xx, from its Status object if it has one. */
export function refusal(
  { verb, path }: Pick<KubeError, 'verb' | 'path'>,
  status: number,
  body: unknown,
  waitMs?: number,
): KubeError {
  const answer = (body as Status | null | undefined)?.kind === 'Status' ? (body as Status) : undefined;
  const seconds = answer?.details?.retryAfterSeconds;
  const retryAfterMs = waitMs ?? (typeof seconds === 'number' && seconds >= 0 ? seconds * 1000 : undefined);
  const reason = answer?.reason && answer.reason.length <= MAX_REASON ? answer.reason : undefined;
  // Errors of validation, decoding and admission quote what was sent; errors of reads only name the object.
  const mayQuoteSecret = /\/secrets(\/|$)/.test(path) && ['create', 'update', 'patch'].includes(verb);
  return new KubeError({
    verb,
    path,
    status,
    reason: reason || REASONS[status] || `Http${status}`,
    detail: mayQuoteSecret || answer?.message === undefined ? undefined : shortened(answer.message),
    retryAfterMs: retryAfterMs && Math.min(Math.max(0, retryAfterMs), MAX_RETRY_AFTER_MS),
  });
}

/** Retry-After is a number of seconds or, from proxies, a date; `nowMs` is the time by the server's clock. */
export function retryWait(header: string | undefined, nowMs: number): number | undefined {
  const text = header?.trim() ?? '';
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const at = text.endsWith(' GMT') ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : at - nowMs;
}

/** For the `catch` of a read: what does not exist is undefined, and anything else still fails. */
export function unlessAbsent(error: unknown): undefined {
  if (!KubeError.is(error, 'NotFound')) throw error;
}
