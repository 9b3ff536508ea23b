import { objectAt, textIn } from '../../api/json.ts';
import type { AdmissionRequest, Answer, CurrentHash, HashQuestion } from '../../domain/admission/request.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Log, LogFields } from '../../telemetry/log.ts';
import type { AdmissionMetrics } from '../../telemetry/metric-tables/admission.ts';
import type { ReadHash } from './live-hash.ts';
import { type BadRequest, readReview, writeReview } from './review.ts';

export interface ReviewerDeps {
  /** The answer to a request, or what has to be read first. */
  readonly admit: (request: AdmissionRequest, hash?: CurrentHash) => Answer | HashQuestion;
  readonly readHash: ReadHash;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: AdmissionMetrics;
}

/** What goes back over HTTP. */
export interface Reply {
  readonly status: number;
  readonly type: 'application/json' | 'text/plain';
  readonly body: string;
  /** Of a 405: the methods that there are. */
  readonly allow?: string;
}

export type Outcome = 'unchanged' | 'changed' | 'denied' | 'invalid' | 'refused' | 'failed';

export interface Reviewed {
  readonly reply: Reply;
  readonly outcome: Outcome;
  /** What a valid review is about. */
  readonly write?: LogFields & { readonly dryRun: boolean };
}

export const plainText = (status: number, body: string): Reply => ({ status, type: 'text/plain', body });
const json = (status: number, body: string): Reply => ({ status, type: 'application/json', body });

export const refused = ({ status, message }: BadRequest, outcome: Outcome): Reviewed => ({
  reply: plainText(status, message),
  outcome,
});

/** Under an HTTP status that is an error the API server does what the failure policy says. */
export const OVERLOADED = { status: 503, message: 'no time left: too many reviews at once, or the API server is slow' };

/** The reply to a body of this client. Never rejects, and ends soon after the signal is aborted. */
export type Reviewer = (body: Buffer, client: string, signal: AbortSignal) => Promise<Reviewed>;

/**
 * Asks `admit` about each review. While sources are read for one, it is kept as the bytes that came, and parsed again
 * afterwards: a parsed review takes up to twenty times as much, and so there is only one at a time.
 */
export function createReviewer({ admit, readHash, log, metrics }: ReviewerDeps): Reviewer {
  const look = (body: Buffer, hash?: CurrentHash, isLate = false): Reviewed | HashQuestion => {
    const read = readReview(body);
    if (!('request' in read)) return refused(read, 'invalid');
    try {
      const answer = admit(read.request, hash);
      if ('lists' in answer) return answer;
      // It had no time to find out: that is no reason of the write's own, and so the failure policy decides.
      return isLate && !answer.allowed ? refused(OVERLOADED, 'refused') : answered(read.request, answer);
    } catch (error) {
      return failed(read.request, error);
    }
  };

  const answered = (request: AdmissionRequest, answer: Answer): Reviewed => {
    const identity = identityOf(request);
    const reply = json(200, writeReview(request.uid, answer));
    if (!answer.allowed) {
      const { code, message } = answer;
      log.info('admission denied', { ...identity, code, reason: short(message, 500) });
      return { reply, outcome: 'denied', write: identity };
    }
    if (!request.dryRun) countRestored(metrics, answer.restored);
    return { reply, outcome: answer.operations.length > 0 ? 'changed' : 'unchanged', write: identity };
  };

  /** Under an HTTP status that is an error the API server does what the failure policy says, as if nobody were here. */
  const failed = (request: AdmissionRequest, error: unknown): Reviewed => {
    const identity = identityOf(request);
    log.error('no answer to an admission request', { ...identity, error: placeOf(error) });
    const denied = { allowed: false, code: 500, message: 'attune failed on this request; its log says where' } as const;
    return { reply: json(500, writeReview(request.uid, denied)), outcome: 'failed', write: identity };
  };

  return async (body, client, signal) => {
    const first = look(body);
    if (!('lists' in first)) return first;
    const hash = await readHash(first, client, signal);
    const second = look(body, hash, 'error' in hash && signal.aborted);
    if ('lists' in second) throw new Error('the hash was read, and asked for again');
    return second;
  };
}

type Restored = Extract<Answer, { readonly allowed: true }>['restored'];

function countRestored(metrics: AdmissionMetrics, { variables, annotations, record }: Restored): void {
  for (const [mark, count] of Object.entries({ variable: variables, annotation: annotations, record })) {
    if (count > 0) metrics.increment('attune_admission_restored_marks_total', { mark }, count);
  }
}

/** Which write it is about, by names alone. Nothing that was sent makes a line long. */
function identityOf({ kind, operation, namespace, object, username, dryRun }: AdmissionRequest) {
  const name = textIn(objectAt(object, ['metadata'])['name']);
  const fields = { kind: kind.kind, operation, namespace, name, user: username };
  return { ...Object.fromEntries(Object.entries(fields).map(([field, text]) => [field, short(text, 253)])), dryRun };
}

const short = (text: string, most: number): string => (text.length > most ? `${text.slice(0, most)}…` : text);

/** Where an error comes from. Its message may quote what was sent, and a Secret with it. */
function placeOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const [place = ''] = /(?<=\n\s+)at .*/.exec(error.stack ?? '') ?? [];
  return `${error.constructor.name} ${place}`;
}
