import { describe, expect, test } from 'vitest';
import { cover, secretsOf, startWords } from './start-words.ts';

const at = '7:M 18 Nov 2026 06:31:57.182';

describe('of all that Redis prints, what says why', () => {
  test.each([
    [
      `\n*** FATAL CONFIG FILE ERROR (Redis 7.0.15) ***\nReading the configuration file, at line 1\n>>> 'masterauth "secret'\nUnbalanced quotes in configuration line\n`,
      'masterauth: Unbalanced quotes in configuration line',
    ],
    [
      `${at} # oO0OoO0OoO0Oo Redis is starting oO0OoO0OoO0Oo\n${at} # Server initialized\n${at} * Running mode=standalone, port=0.\n${at} # Module /x.so failed to load: no\n${at} # Can't load module from /x.so: server aborting\n`,
      "Module /x.so failed to load: no; Can't load module from /x.so: server aborting",
    ],
    [
      `${at} # Aborting Redis startup because of ACL errors: /tmp/t/users.acl:2: Syntax error. WARNING: ACL errors detected, no change to the previously active ACL rules was performed`,
      'users.acl:2: Syntax error',
    ],
    [
      "7:C 18 Nov 2026 06:25:31.479 # Fatal error, can't open config file '/x': No such file",
      "Fatal error, can't open config file '/x': No such file",
    ],
    [
      'redis-server: error while loading shared libraries: libssl.so.3\n',
      'redis-server: error while loading shared libraries: libssl.so.3',
    ],
    [`${at} # Server initialized\n=== REDIS BUG REPORT START: Cut & paste ===\n${at} # argv[1]: 'secret'\n`, undefined],
    ['', undefined],
    [`${at} # ${'x'.repeat(5000)}`, 'x'.repeat(500)],
  ])('%#', (output, words) => {
    expect(startWords(output, '/tmp/t')).toBe(words);
  });
});

test('passwords and hashes are covered', () => {
  const directives = [
    ['requirepass', 'hunter22'],
    ['MasterAuth', 'p'],
    ['maxmemory', 'nothing secret'],
    ['tls-key-file-pass', 'keypass'],
    ['user', 'bob on >bobspass ~* +@all'],
  ] as const;
  const acl = 'user eve on <evespass #abcdef\n';
  const words = "hunter22 'p' keypass '>bobspass' '<evespass' '#abcdef' nothing secret, Syntax error, group";
  expect(cover(words, secretsOf(directives, acl))).toBe(
    "*** '***' *** '***' '***' '***' nothing secret, Syntax error, group",
  );
});
