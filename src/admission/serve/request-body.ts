import type { IncomingMessage, ServerResponse } from 'node:http';
import { FairShare } from './fair-share.ts';
import type { BadRequest } from './review.ts';

export interface BodyLimits {
  /** Of one body. */
  readonly bodyBytes: number;
  /** Of all bodies whose requests are not answered yet. */
  readonly roomBytes: number;
}

/** Reads bodies. A body is read when there is room for all of it, and keeps its room until its answer is sent. */
export function createBodyReader({ bodyBytes, roomBytes }: BodyLimits) {
  const room = new FairShare(roomBytes);
  const tooLarge: BadRequest = { status: 413, message: `the body is over ${bodyBytes} bytes` };

  return async (
    request: IncomingMessage,
    response: ServerResponse,
    client: string,
    signal: AbortSignal,
  ): Promise<Buffer | BadRequest> => {
    const { 'content-length': length = bodyBytes } = request.headers;
    const claimed = Number(length);
    if (claimed > bodyBytes) return tooLarge;
    const release = await room.take(client, claimed, signal);
    if (response.destroyed) release();
    else response.once('close', release);
    return await received(request, claimed, signal, tooLarge);
  };
}

/** Made once: one that is made here would keep the body until its connection ends. */
const ignored = (): void => {};

/** What is left of a body that breaks off, or is too large, is not read. Rejects with the signal's reason. */
function received(
  request: IncomingMessage,
  claimed: number,
  signal: AbortSignal,
  tooLarge: BadRequest,
): Promise<Buffer | BadRequest> {
  const read = Promise.withResolvers<Buffer | BadRequest>();
  // Nothing is made for what is only claimed.
  const chunks: Buffer[] = [];
  let size = 0;
  const late = (): void => read.reject(signal.reason);
  const take = (chunk: Buffer): void => {
    size += chunk.length;
    if (size > claimed) read.resolve(tooLarge);
    else chunks.push(chunk);
  };
  signal.addEventListener('abort', late, { once: true });
  request.on('data', take);
  request.once('end', () => read.resolve(Buffer.concat(chunks.splice(0), size)));
  request.once('close', () => read.resolve({ status: 400, message: 'the body broke off' }));
  request.on('error', ignored);
  if (signal.aborted) late();
  return read.promise.finally(() => {
    signal.removeEventListener('abort', late);
    request.removeListener('data', take).pause();
  });
}
