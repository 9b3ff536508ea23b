import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const main = fileURLToPath(new URL('../../main.ts', import.meta.url));

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
  const script = `
    import { processIo } from './process-io.ts';
    const io = processIo(new AbortController().signal);
    process.stdin.resume().on('end', () => {
      io.stderr('nobody reads this\\n');
      setTimeout(() => process.exit(7), 20);
    });`;
  const argv = ['--input-type=module-typescript', '-e', script];
  const program = spawn(process.execPath, argv, { cwd: import.meta.dirname, stdio: ['pipe', 'ignore', 'pipe'] });
  program.stderr.destroy();
  await once(program.stderr, 'close');
  program.stdin.end();
  expect(await once(program, 'exit')).toEqual([7, null]);
});
