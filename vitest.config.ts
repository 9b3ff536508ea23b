import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    // Two at a time: the tests of a control plane wait more than they work.
    maxWorkers: 2,
    projects: [
      {
        test: {
          name: 'unit',
          // The default of 5 s is not enough where other work shares the machine.
          testTimeout: 30_000,
          include: [
            'src/**/*.test.ts',
            'test/*.test.ts',
            'test/model/*.test.ts',
            'test/support/*.test.ts',
            'bench/*.test.ts',
          ],
        },
      },
      { test: { name: 'conformance', include: ['test/conformance/*.test.ts'] } },
      {
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.e2e.ts'],
          globalSetup: ['test/e2e/control-plane.ts'],
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
