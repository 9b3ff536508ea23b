import { setTimeout as delay } from 'node:timers/promises';

export interface Waiting {
  /** What is waited for, in the words of the failure. */
  readonly what: string;
  readonly deadlineMs?: number;
}

/**
 * Asks until the answer is neither false nor undefined, and returns it. An error of the condition counts as "not yet";
 * the last one is the cause of the failure at the deadline.
 */
export async function until<T>(
  condition: () => T | false | undefined | Promise<T | false | undefined>,
  { what, deadlineMs = 60_000 }: Waiting,
): Promise<T> {
  const deadline = performance.now() + deadlineMs;
  for (;;) {
    let cause: unknown;
    try {
      const answer = await condition();
      if (answer !== false && answer !== undefined) return answer;
    } catch (error) {
      cause = error;
    }
    if (performance.now() > deadline) throw new Error(`waited ${deadlineMs} ms in vain: ${what}`, { cause });
    await delay(25);
  }
}
