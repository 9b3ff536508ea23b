import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { ComponentEnded } from './components.ts';

const dir = mkdtempSync(join(tmpdir(), 'attune-crew-'));
afterAll(() => rmSync(dir, { recursive: true }));

test('a part that ended without a word is not said to have said something', () => {
  const { message } = new ComponentEnded(dir, 'etcd', 'ended with exit code 1');
  expect(message).toBe(`etcd ended with exit code 1; ${join(dir, 'logs', 'etcd.log')} is empty`);
});

test('a sandbox that was cleared away meanwhile is no reason to fail', () => {
  expect(new ComponentEnded('/dev/null/gone', 'etcd', 'was ended by SIGKILL').message).toContain(
    'was ended by SIGKILL',
  );
});
