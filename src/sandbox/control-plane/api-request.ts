import { request } from 'node:https';

export interface ApiAccess {
  readonly server: string;
  readonly authority: string;
  readonly token: string;
}

export interface ApiAnswer {
  readonly status: number;
  readonly text: string;
}

/**
 * One request to the API server, on a connection of its own. It has a deadline, because an API server whose etcd is gone
 * does not answer with an error: it hangs.
 */
export function apiRequest(
  access: ApiAccess,
  method: string,
  path: string,
  options: { readonly body?: unknown; readonly contentType?: string; readonly timeoutMs?: number } = {},
): Promise<ApiAnswer> {
  const body = options.body === undefined ? undefined : JSON.stringify(options.body);
  return new Promise((resolve, reject) => {
    const sent = request(
      new URL(path, access.server),
      {
        method,
        ca: access.authority,
        agent: false,
        signal: AbortSignal.timeout(options.timeoutMs ?? 10_000),
        headers: {
          authorization: `Bearer ${access.token}`,
          accept: 'application/json',
          ...(body === undefined ? {} : bodyHeaders(body, options.contentType)),
        },
      },
      (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('error', reject);
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString() }));
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

/** With a DELETE Node sends no content-length by itself, and without it the API server ignores the body. */
function bodyHeaders(body: string, contentType = 'application/json') {
  return { 'content-type': contentType, 'content-length': Buffer.byteLength(body) };
}
