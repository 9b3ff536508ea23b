import { expect, test } from 'vitest';
import { stage } from '../../support/controller.ts';

test.each([
  // As from the terminal and from npm; but two of a kind may arrive as one, and these cannot.
  ['a stop that comes twice in one moment', ['SIGINT', 'SIGTERM']],
  ['a terminal that is closed', ['SIGHUP']],
] as const)('%s: the controller ends its work in order', async (_, signals) => {
  await using own = await stage();
  await using controller = await own.start();
  for (const signal of signals) process.kill(controller.pid, signal);
  expect(await controller.ended, controller.lines.join('\n')).toBe(0);
});
