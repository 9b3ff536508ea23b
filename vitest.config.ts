import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    maxWorkers: 2,
    projects: [
      {
        test: {
          name: 'unit',
          // The defaults of 5 and 10 s are not enough where other work shares the machine.
          testTimeout: 60_000,
          hookTimeout: 60_000,
          include: [
            'src/**/*.test.ts',
            'test/*.test.ts',
            'test/model/*.test.ts',
            'test/support/*.test.ts',
            'bench/*.test.ts',
          ],
        },
      },
      { test: { name: 'conformance', testTimeout: 60_000, include: ['test/conformance/*.test.ts'] } },
      {
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.e2e.ts'],
          globalSetup: ['test/e2e/control-plane.ts'],
          // More than a machine of two cores has: the tests of a control plane wait more than they work.
          maxWorkers: 3,
          // Projects that differ in this run one after the other.
          sequence: { groupOrder: 1 },
          // Each wait has a deadline of its own, and says what it waited for; this is for what has none.
          testTimeout: 300_000,
          hookTimeout: 300_000,
        },
      },
    ],
  },
});
