import { expect, test } from 'vitest';
import { isSecretKey, mayBeSecret } from './secret-keys.ts';

test.each(['requirepass', 'MasterAuth', 'tls-key-file-pass', 'tls-client-key-file-pass'])('%s is a secret', (key) => {
  expect([isSecretKey(key), mayBeSecret(key)]).toEqual([true, true]);
});

test.each(['user', 'masteruser', 'require-pass', 'tls-auth-clients'])('%s may hold one', (key) => {
  expect([isSecretKey(key), mayBeSecret(key)]).toEqual([false, true]);
});

test('maxmemory holds none', () => {
  expect([isSecretKey('maxmemory'), mayBeSecret('maxmemory')]).toEqual([false, false]);
});
