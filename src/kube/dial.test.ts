import { expect, test } from 'vitest';
import type { TlsOptions } from './connection.ts';
import { dialler } from './dial.ts';

const connectionWith = (tls: TlsOptions) => ({ server: new URL('https://127.0.0.1:1'), tls: () => tls });

test.each([
  ['certificate', { cert: 'hello', key: 'hello' }],
  ['key', { key: 'hello' }],
])('a client %s that is none is told at once, and what was expected', (_what, tls) => {
  expect(() => dialler(connectionWith(tls))).toThrow(
    /client certificate or client key .* cannot be used; expected PEM/,
  );
});
