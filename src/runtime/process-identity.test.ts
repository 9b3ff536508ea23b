import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { until } from '../../test/support/wait.ts';
import { identityOf, isAlive, ownIdentity } from './process-identity.ts';

test('a process is alive until it has ended', async () => {
  const child = spawn('sleep', ['600']);
  // The kernel lets a parent go on a moment before the command line of its child is there.
  const identity = await until(
    () => {
      const seen = identityOf(child.pid ?? 0);
      return seen?.command === 'sleep 600' && seen;
    },
    { what: 'the child with its command line' },
  );
  expect(isAlive(identity)).toBe(true);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(isAlive(identity)).toBe(false);
});

test('another process with the same pid is not the same process', () => {
  const own = ownIdentity();
  expect(isAlive(own)).toBe(true);
  expect(isAlive({ ...own, startedAt: `${own.startedAt}0` })).toBe(false);
  expect(isAlive({ ...own, command: 'etcd --data-dir=somewhere' })).toBe(false);
});

test('a pid that nobody has is nobody', () => {
  expect(identityOf(2 ** 30)).toBeUndefined();
});
