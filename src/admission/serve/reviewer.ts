import { objectAt, textIn } from '../../api/json.ts';
import type { AdmissionRequest, Answer } from '../../domain/admission/request.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Log, LogFields } from '../../telemetry/log.ts';
import type { AdmissionMetrics } from '../../telemetry/metric-tables/admission.ts';
import { type BadRequest, readReview, writeReview } from './review.ts';

export interface ReviewerDeps {
  readonly admit: (request: AdmissionRequest) => Promise<Answer>;
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

/** The reply to a body, or to what came in the place of one; `begun` is when its request did. Never rejects. */
export type Reviewer = (body: Buffer | BadRequest, begun: number) => Promise<Reply>;

export const plainText = (status: number, body: string): Reply => ({ status, type: 'text/plain', body });
const json = (status: number, body: string): Reply => ({ status, type: 'application/json', body });

/** Asks `admit` about each review, answers in time whatever it does, and tells log and metrics. */
export function createReviewer({ admit, clock, log, metrics }: ReviewerDeps, answerMs: number): Reviewer {
  const inTime = async (request: AdmissionRequest, begun: number): Promise<Answer> => {
    const late = Promise.withResolvers<never>();
    const callOff = clock.after(Math.max(0, begun + answerMs - clock.now()), () => late.reject(new Late()));
    try {
      return await Promise.race([admit(request), late.promise]);
    } finally {
      callOff();
    }
  };
  /** Under an HTTP status that is an error the API server does what the failure policy says, as if nobody were here. */
  const failed = (request: AdmissionRequest, error: unknown): Reply => {
    const isLate = error instanceof Late;
    const why = isLate ? `it took longer than ${answerMs} ms` : placeOf(error);
    log.error('no answer to an admission request', { ...identityOf(request), error: why });
    const code = isLate ? 504 : 500;
    const message = isLate
      ? `attune had no answer within ${answerMs} ms`
      : 'attune failed on this request; its log says where';
    return json(code, writeReview(request.uid, { allowed: false, code, message }));
  };
  const reviewed = async (request: AdmissionRequest, begun: number): Promise<readonly [Outcome, Reply]> => {
    try {
      const answer = await inTime(request, begun);
      const reply = json(200, writeReview(request.uid, answer));
      if (!answer.allowed) {
        const { code, message } = answer;
        log.info('admission denied', { ...identityOf(request), code, reason: short(message, 500) });
        return ['denied', reply];
      }
      if (!request.dryRun) countRestored(metrics, answer.restored);
      return [answer.operations.length > 0 ? 'changed' : 'unchanged', reply];
    } catch (error) {
      return ['failed', failed(request, error)];
    }
  };
  const done = (reply: Reply, begun: number, outcome: Outcome, request?: AdmissionRequest): Reply => {
    const ms = clock.now() - begun;
    metrics.increment('attune_admission_requests_total', { outcome, dry_run: String(request?.dryRun ?? false) });
    metrics.observe('attune_admission_duration_seconds', {}, ms / 1000);
    log.debug('admission request', { ...(request && identityOf(request)), outcome, status: reply.status, ms });
    return reply;
  };
  return async (body, begun) => {
    const read = Buffer.isBuffer(body) ? readReview(body) : body;
    if (!('request' in read)) return done(plainText(read.status, read.message), begun, 'invalid');
    const { request } = read;
    const [outcome, reply] = await reviewed(request, begun);
    return done(reply, begun, outcome, request);
  };
}

type Outcome = 'unchanged' | 'changed' | 'denied' | 'invalid' | 'failed';

class Late extends Error {}

type Restored = Extract<Answer, { readonly allowed: true }>['restored'];

function countRestored(metrics: AdmissionMetrics, { variables, annotations, record }: Restored): void {
  for (const [mark, count] of Object.entries({ variable: variables, annotation: annotations, record })) {
    if (count > 0) metrics.increment('attune_admission_restored_marks_total', { mark }, count);
  }
}

/** Which write it is about, by names alone. Nothing that was sent makes a line long. */
function identityOf({ kind, operation, namespace, object, username, dryRun }: AdmissionRequest): LogFields {
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
