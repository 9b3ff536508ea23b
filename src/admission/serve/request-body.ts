import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BadRequest } from './review.ts';

export interface BodyLimits {
  /** Of one body. */
  readonly bodyBytes: number;
  /** Of all bodies whose requests are not answered yet. */
  readonly roomBytes: number;
}

/** Reads bodies, and holds no more of them at a time than there is room for. */
export function createBodyReader({ bodyBytes, roomBytes }: BodyLimits) {
  const tooLarge = `the body is over ${bodyBytes} bytes`;
  let held = 0;

  return (request: IncomingMessage, response: ServerResponse): Promise<Buffer | BadRequest> => {
    const read = Promise.withResolvers<Buffer | BadRequest>();
    const chunks: Buffer[] = [];
    let size = 0;
    const refuse = (status: number, message: string): void => {
      // What is left of the body is not read: its sender is told to go.
      request.removeListener('data', take).pause();
      response.shouldKeepAlive = false;
      read.resolve({ status, message });
    };
    const take = (chunk: Buffer): void => {
      size += chunk.length;
      held += chunk.length;
      if (size > bodyBytes) refuse(413, tooLarge);
      else if (held > roomBytes) refuse(503, 'too many large requests at a time');
      else chunks.push(chunk);
    };
    response.once('close', () => {
      held -= size;
    });
    if (Number(request.headers['content-length']) > bodyBytes) refuse(413, tooLarge);
    else {
      request.on('data', take);
      request.once('end', () => read.resolve(Buffer.concat(chunks, size)));
      request.once('close', () => read.resolve({ status: 400, message: 'the body broke off' }));
      request.on('error', () => {});
    }
    return read.promise;
  };
}
