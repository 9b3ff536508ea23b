import type { IncomingMessage, ServerResponse } from 'node:http';
import { FairShare } from './fair-share.ts';
import { type BodyLimits, createBodyReader } from './request-body.ts';
import { createReviewer, OVERLOADED, type Reviewed, type ReviewerDeps, refused } from './reviewer.ts';

export interface ReviewLimits extends BodyLimits {
  /** Of all clients; others wait for their turn. */
  readonly reviews: number;
  /** From the head of a request until nothing is waited for any more, however long the API server waits. */
  readonly answerMs: number;
}

export interface ReviewHandlerDeps extends ReviewerDeps {
  /** How long the API server waits for an answer. A request can shorten that, but not lengthen it: anybody may send one. */
  readonly timeoutSeconds: () => number;
}

/** Answers the request of a client. */
export type ReviewHandler = (request: IncomingMessage, response: ServerResponse, client: string) => Promise<Reviewed>;

// A flood of requests is no flood of lines.
const TELL_MS = 60_000;

/** Lets in as many reviews as the limits allow, keeps the others waiting, and refuses those whose time is over. */
export function createReviewHandler(deps: ReviewHandlerDeps, limits: ReviewLimits): ReviewHandler {
  const { clock, log, metrics } = deps;
  const review = createReviewer(deps);
  const readBody = createBodyReader(limits);
  const reviews = new FairShare(limits.reviews);
  let mayTellAt = Number.NEGATIVE_INFINITY;

  const tellOverload = (client: string): void => {
    if (clock.now() < mayTellAt) return;
    mayTellAt = clock.now() + TELL_MS;
    log.warn('admission refused a review: no time left', { client });
  };

  const reviewed = async (
    request: IncomingMessage,
    response: ServerResponse,
    client: string,
    signal: AbortSignal,
  ): Promise<Reviewed> => {
    if (!isJson(request)) return refused(NO_JSON, 'invalid');
    try {
      const release = await reviews.take(client, 1, signal);
      if (response.destroyed) release();
      else response.once('close', release);
      const body = await readBody(request, response, client, signal);
      return Buffer.isBuffer(body) ? await review(body, client, signal) : refused(body, 'invalid');
    } catch (error) {
      if (error !== OVER) throw error;
      return response.destroyed ? refused(GONE, 'invalid') : refused(OVERLOADED, 'refused');
    }
  };

  return async (request, response, client) => {
    const begun = clock.now();
    const ending = new AbortController();
    const ms = Math.min(secondsLeft(request, deps.timeoutSeconds()) * 500, limits.answerMs);
    // In two halves: after a long pause of this process its timers come first, and what it waits for may be there.
    let callOff = clock.after(ms / 2, () => {
      callOff = clock.after(ms / 2, () => ending.abort(OVER));
    });
    response.once('close', () => ending.abort(OVER));
    const done = await reviewed(request, response, client, ending.signal).finally(() => callOff());
    const { outcome, reply, write } = done;
    if (outcome === 'refused') tellOverload(client);
    const took = clock.now() - begun;
    metrics.increment('attune_admission_requests_total', { outcome, dry_run: String(write?.dryRun ?? false) });
    metrics.observe('attune_admission_duration_seconds', {}, took / 1000);
    log.debug('admission request', { ...write, outcome, status: reply.status, ms: took });
    return done;
  };
}

/** Attune takes half of this: a part is gone when the request is here, and the answer takes a moment too. */
function secondsLeft({ url = '' }: IncomingMessage, most: number): number {
  const [, seconds] = /[?&]timeout=(\d{1,2})s(?:&|$)/.exec(url) ?? [];
  return seconds === undefined ? most : Math.min(Number(seconds), most);
}

/** Made once: a flood would make as many, each with its stack. */
const OVER = new Error('the time of this review is over');
const GONE = { status: 400, message: 'the connection broke off' };
const NO_JSON = { status: 400, message: 'expected the content type application/json' };

const isJson = ({ headers }: IncomingMessage): boolean =>
  /^application\/json\s*(;|$)/i.test(headers['content-type'] ?? '');
