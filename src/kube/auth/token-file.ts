import { readFileSync } from 'node:fs';
import { type Clock, systemClock } from '../../runtime/clock.ts';

// The kubelet renews a token when a fifth of its life is left; client-go looks once a minute, too.
const REREAD_MS = 60_000;
// A file that is just being replaced will be there in a moment, and so may be a token in the place of one that was refused.
const RETRY_MS = 1_000;

/**
 * A bearer token in a file that others rotate: read again once a minute, at once after a refusal, and then every second
 * for as long as it is the one that was refused. While the file cannot be read, the last token has to do. Throws where
 * there is none to begin with.
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
