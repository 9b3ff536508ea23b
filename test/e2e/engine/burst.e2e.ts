import { kill } from 'node:process';
import { expect, test } from 'vitest';
import { stage } from '../../support/controller.ts';
import { SOURCES, shippedProgram } from '../../support/programs.ts';
import { until } from '../../support/wait.ts';

const PRELOAD = new URL('burst.mjs', import.meta.url).href;

interface Heap {
  readonly young: number;
  readonly during: number;
  readonly now: number;
}

const SHRUNK_MS = 60_000;

// Left alone it is 128. To load the sources, whose types are stripped, makes it grow before anybody can say anything about
// it: to 8 as a rule, to 27 on a busy machine.
test.each([
  ['the bundle', shippedProgram(), 16],
  ['the sources', SOURCES, 48],
])('%s, started by hand, takes little for a burst and gives it back', async (_, program, mostMb) => {
  await using at = await stage();
  await using attune = await at.start([], { program, env: { NODE_OPTIONS: `--import=${PRELOAD}` } });
  kill(attune.pid, 'SIGUSR2');
  const told = () => attune.lines.filter((line) => line.startsWith('{"young"')).map((line) => JSON.parse(line) as Heap);
  const { young, during } = await until(() => told().at(0), { what: 'the burst' });
  expect(young).toBeLessThanOrEqual(mostMb);
  expect(during).toBeGreaterThan(40);
  const isSmall = () => (told().at(-1)?.now ?? during) < during / 2;
  await until(isSmall, { what: 'a small heap', deadlineMs: SHRUNK_MS });
});
