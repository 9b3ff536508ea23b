import { expect } from 'vitest';

/** An expectation that may take a while to come true, also on a machine with much else to do. */
export function eventually<T>(read: () => T) {
  return expect.poll(read, { timeout: 25_000, interval: 2 });
}
