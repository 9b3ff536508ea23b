import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { identityOf, isAlive, ownIdentity } from './process-identity.ts';

test('a process is alive until it has ended', async () => {
  const child = spawn('sleep', ['600']);
  const identity = identityOf(child.pid ?? 0);
  if (!identity) throw new Error('the child is not seen');
  expect(identity.command).toBe('sleep 600');
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
