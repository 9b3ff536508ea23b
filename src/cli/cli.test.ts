import { expect, test } from 'vitest';
import { runCli } from './cli.ts';

test.each(['constructor', 'toString', '__proto__', 'contrller'])('%s is no command', async (word) => {
  let stderr = '';
  const code = await runCli([word], {
    env: {},
    stdout: () => {},
    stderr: (text) => {
      stderr += text;
    },
    signal: new AbortController().signal,
    terminal: {},
  });
  expect(code).toBe(2);
  expect(stderr).toContain(`there is no command "${word}"`);
});
