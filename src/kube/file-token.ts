import { readFileSync } from 'node:fs';
import { type Clock, systemClock } from '../runtime/clock.ts';

// The kubelet renews a token when a fifth of its life is left; client-go looks once a minute, too.
const REREAD_MS = 60_000;

/** A bearer token in a file that others rotate: read again once a minute, and at once after a refusal. */
export function fileToken(file: string, clock: Clock = systemClock): (refused?: boolean) => string {
  let header = '';
  let readAt = Number.NEGATIVE_INFINITY;
  return (refused = false) => {
    if (refused || clock.now() - readAt >= REREAD_MS) {
      // Synchronous on purpose: a kilobyte of tmpfs once a minute, and no request waits for a promise.
      header = `Bearer ${readFileSync(file, 'utf8').trim()}`;
      readAt = clock.now();
    }
    return header;
  };
}
