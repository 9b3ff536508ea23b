import { request } from 'node:https';
import { text } from 'node:stream/consumers';

export type ApiAccess = Readonly<Record<'server' | 'authority' | 'token', string>>;

/**
 * One request to the API server, on a connection of its own. It has a deadline, because an API server whose etcd is gone
 * does not answer with an error: it hangs.
 */
export function apiRequest(
  access: ApiAccess,
  method: string,
  path: string,
  options: { readonly body?: unknown; readonly contentType?: string; readonly timeoutMs?: number } = {},
): Promise<{ readonly status: number; readonly text: string }> {
  const body = options.body === undefined ? undefined : JSON.stringify(options.body);
  const { contentType = 'application/json', timeoutMs = 10_000 } = options;
  // With a DELETE Node sends no content-length by itself, and without it the API server ignores the body.
  const about = body !== undefined && { 'content-type': contentType, 'content-length': Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    const sent = request(
      new URL(path, access.server),
      {
        method,
        ca: access.authority,
        agent: false,
        signal: AbortSignal.timeout(timeoutMs),
        headers: { authorization: `Bearer ${access.token}`, accept: 'application/json', ...about },
      },
      (answer) => text(answer).then((all) => resolve({ status: answer.statusCode ?? 0, text: all }), reject),
    );
    sent.on('error', reject);
    sent.end(body);
  });
}
