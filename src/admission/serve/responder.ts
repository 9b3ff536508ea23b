import type { IncomingMessage, ServerResponse } from 'node:http';
import { type BodyLimits, createBodyReader } from './request-body.ts';
import { createReviewer, plainText, type Reply, type ReviewerDeps } from './reviewer.ts';

export interface ResponderDeps extends ReviewerDeps {
  readonly isReady: () => boolean;
}

export interface ResponderLimits extends BodyLimits {
  /** From the head of a request to its answer. */
  readonly answerMs: number;
}

/** Answers a request; where `isLast` says so, it is the last one of its connection. Never rejects. */
export type Responder = (request: IncomingMessage, response: ServerResponse, isLast: () => boolean) => Promise<void>;

export function createResponder(deps: ResponderDeps, limits: ResponderLimits): Responder {
  const review = createReviewer(deps, limits.answerMs);
  const readBody = createBodyReader(limits);

  const replyTo = async (request: IncomingMessage, response: ServerResponse): Promise<Reply> => {
    const begun = deps.clock.now();
    const { method = '', url = '' } = request;
    const [path = ''] = url.split('?', 1);
    const allowed = METHODS.get(path);
    if (!allowed) return plainText(404, 'not found');
    if (!allowed.includes(method)) return { ...plainText(405, `only ${allowed}`), allow: allowed.join(', ') };
    if (path === '/readyz') return deps.isReady() ? plainText(200, 'ready') : plainText(503, 'not ready');
    return await review(isJson(request) ? await readBody(request, response) : NO_JSON, begun);
  };

  return async (request, response, isLast) => {
    try {
      const { status, type, body, allow } = await replyTo(request, response);
      if (isLast()) response.shouldKeepAlive = false;
      response.writeHead(status, {
        'content-type': type,
        'content-length': Buffer.byteLength(body),
        ...(allow !== undefined && { allow }),
      });
      response.end(body);
    } catch (error) {
      deps.log.error('request to the admission port failed', { error: String(error) });
      response.destroy();
    }
  };
}

const METHODS: ReadonlyMap<string, readonly string[]> = new Map([
  ['/mutate', ['POST']],
  ['/readyz', ['GET', 'HEAD']],
]);

const NO_JSON = { status: 400, message: 'expected the content type application/json' };

const isJson = ({ headers }: IncomingMessage): boolean =>
  /^application\/json\s*(;|$)/i.test(headers['content-type'] ?? '');
