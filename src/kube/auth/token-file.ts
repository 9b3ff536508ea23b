import { readFileSync } from 'node:fs';
import { type Clock, systemClock } from '../../runtime/clock.ts';

// As client-go. The kubelet renews a token long before it expires, when a fifth of its life is left.
const REREAD_MS = 60_000;
// While the file is being replaced, or still holds the token that was refused.
const RETRY_MS = 1_000;

/**
 * A bearer token from a file that is rotated: read again once a minute, at once after a refusal, and then every second as
 * long as it is the token that was refused. If the file cannot be read, the last token stays in use. Throws if it cannot
 * be read the first time.
 */
export function tokenFromFile(file: string, clock: Clock = systemClock): (refused?: boolean) => string {
  let header = `Bearer ${readToken(file)}`;
  let rereadAt = clock.now() + REREAD_MS;
  let refusedHeader: string | undefined;
  return (refused = false) => {
    if (!refused && clock.now() < rereadAt) return header;
    if (refused) refusedHeader = header;
    try {
      // Synchronous on purpose: a kilobyte of tmpfs once a minute, and no request waits for a promise.
      header = `Bearer ${readToken(file)}`;
      rereadAt = clock.now() + (header === refusedHeader ? RETRY_MS : REREAD_MS);
    } catch {
      rereadAt = clock.now() + RETRY_MS;
    }
    return header;
  };
}

function readToken(file: string): string {
  let token: string;
  try {
    token = readFileSync(file, 'utf8').trim();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Error(`${file}: the token cannot be read (${code})`, { cause: error });
  }
  if (token === '') throw new Error(`${file}: expected a token, but the file is empty`);
  return token;
}
