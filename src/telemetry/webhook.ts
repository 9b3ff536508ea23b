import { upperJitter } from '../runtime/backoff.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Log } from './log.ts';
import { createOutbox } from './outbox.ts';
import { post } from './post.ts';

export interface Webhook {
  /** One POST for one change; returns at once. */
  send(): void;
  drain(deadlineMs: number): Promise<void>;
}

const TIMEOUT_MS = 10_000;
const BACKOFF = { baseMs: 500, capMs: 60_000 };

/** Stakater's payload: it does not say what changed. */
const BODY = JSON.stringify({ webhook: 'update successful' });
const REQUEST = { proxy: undefined, contentType: 'application/json', body: BODY, timeoutMs: TIMEOUT_MS };

/**
 * `--webhook-url`: any answer counts as delivered. While nobody answers, nothing is given up: as all payloads are alike,
 * a change that waits costs next to nothing.
 */
export function createWebhook(address: string, { log, clock }: { readonly log: Log; readonly clock: Clock }): Webhook {
  const url = new URL(address);
  const outbox = createOutbox(deliver, Number.POSITIVE_INFINITY, clock);

  async function deliver(_: null, attempt: number, signal: AbortSignal): Promise<number | undefined> {
    try {
      const { status, body } = await post({ ...REQUEST, url, signal });
      log.info('webhook answered', { host: url.host, status, body });
      return undefined;
    } catch (error) {
      const retryInMs = Math.round(upperJitter(attempt, BACKOFF, Math.random));
      log.error('webhook not reached', { host: url.host, attempt, retryInMs, error: String(error) });
      return retryInMs;
    }
  }

  return { send: () => void outbox.add(null), drain: (deadlineMs) => outbox.drain(deadlineMs) };
}
