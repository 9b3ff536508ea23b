import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const main = fileURLToPath(new URL('../main.ts', import.meta.url));

test.skipIf(process.platform !== 'linux')('what cannot be written is no success', () => {
  const full = openSync('/dev/full', 'w');
  const { status, stderr } = spawnSync(process.execPath, [main, 'help'], { stdio: ['ignore', full, 'pipe'] });
  closeSync(full);
  expect(String(stderr)).toMatch(/^attune: not everything could be written: ENOSPC/);
  expect(status).toBe(1);
});

test('a reader that has gone is no reason to complain', async () => {
  const program = spawn(process.execPath, [main, 'help'], { stdio: ['ignore', 'pipe', 'pipe'] });
  program.stdout.destroy();
  const [stderr, [status]] = await Promise.all([text(program.stderr), once(program, 'exit')]);
  expect({ stderr, status }).toEqual({ stderr: '', status: 0 });
});

test('nor is one of the errors: the program goes on to its end', async () => {
  const program = spawn(process.execPath, [main, 'no-such-command'], { stdio: ['ignore', 'ignore', 'pipe'] });
  program.stderr.destroy();
  const [status] = await once(program, 'exit');
  expect(status).toBe(2);
});
