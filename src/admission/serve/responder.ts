import type { IncomingMessage, ServerResponse } from 'node:http';
import { createReviewHandler, type ReviewHandlerDeps, type ReviewLimits } from './review-handler.ts';
import { plainText, type Reply } from './reviewer.ts';

export interface ResponderDeps extends ReviewHandlerDeps {
  readonly isReady: () => boolean;
}

/** What the server knows about a request that the request does not say. */
export interface Sender {
  /** Its address. */
  readonly client: string;
  /** Whether the answer is the last one of its connection; asked when it is sent. */
  readonly isLast: () => boolean;
  /** Called if the request was a valid review. */
  readonly proved: () => void;
}

/** Answers a request. Never rejects. */
export type Responder = (request: IncomingMessage, response: ServerResponse, sender: Sender) => Promise<void>;

export function createResponder(deps: ResponderDeps, limits: ReviewLimits): Responder {
  const review = createReviewHandler(deps, limits);

  const replyTo = async (request: IncomingMessage, response: ServerResponse, sender: Sender): Promise<Reply> => {
    const { method = '', url = '' } = request;
    const [path = ''] = url.split('?', 1);
    const allowed = METHODS.get(path);
    if (!allowed) return plainText(404, 'not found');
    if (!allowed.includes(method)) return { ...plainText(405, `only ${allowed}`), allow: allowed.join(', ') };
    if (path === '/readyz') return deps.isReady() ? plainText(200, 'ready') : plainText(503, 'not ready');
    const { reply, write } = await review(request, response, sender.client);
    if (write) sender.proved();
    return reply;
  };

  return async (request, response, sender) => {
    try {
      const { status, type, body, allow } = await replyTo(request, response, sender);
      // What is left of a body is not read: its sender is told to go.
      if (sender.isLast() || !request.complete) response.shouldKeepAlive = false;
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
