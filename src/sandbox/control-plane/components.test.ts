import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { ComponentEnded } from './components.ts';

const dir = mkdtempSync(join(tmpdir(), 'attune-components-'));
afterAll(() => rmSync(dir, { recursive: true }));

test('a component that ended without a log line has an empty log, not a last line', () => {
  const { message } = new ComponentEnded(dir, 'etcd', 'ended with exit code 1');
  expect(message).toBe(`etcd ended with exit code 1; ${join(dir, 'logs', 'etcd.log')} is empty`);
});

test('the error can be made after the sandbox was removed', () => {
  expect(new ComponentEnded('/dev/null/gone', 'etcd', 'was ended by SIGKILL').message).toContain(
    'was ended by SIGKILL',
  );
});
