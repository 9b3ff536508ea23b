import { describe, expect, test } from 'vitest';
import { problemOf, problemsInWords } from './acl-refusal.ts';
import { parseAclText } from './acl-text.ts';

describe('an ACL text', () => {
  test('is read as Redis reads a file', () => {
    const { lines, problems } = parseAclText('user a on >x\r\n\n \t\n  user b off \t\n');
    expect(problems).toEqual([]);
    expect(lines).toEqual([
      { number: 1, name: 'a', words: ['on', '>x'] },
      { number: 4, name: 'b', words: ['off'] },
    ]);
  });

  test.each([
    ['# comment', 'is a comment'],
    ['alice on', 'must begin with "user"'],
    ['user', 'must have the name'],
    ['user  alice on', 'must have the name'],
    ['user attune-agent on nopass', 'the login of the agent itself'],
    ['user a on\nuser a off', 'names user a again, after line 1'],
    ['>secret on', 'must begin with "user"'],
  ])('%j', (text, words) => {
    const { problems } = parseAclText(text);
    expect(problems.map(({ what }) => what)).toEqual([expect.stringContaining(words)]);
    expect(JSON.stringify(problems)).not.toContain('secret');
  });

  test('all mistakes are told at once, the first few in full', () => {
    const { problems } = parseAclText('#\n'.repeat(7));
    expect(problemsInWords(problems)).toMatch(/^line 1: .*; line 5: [^;]*; and 2 more$/);
  });
});

describe('what Redis refuses', () => {
  const answer = (rule: string, kind = 'Syntax error'): string =>
    `ERR Error in ACL SETUSER modifier '${rule}': ${kind}`;
  const told = (words: readonly string[], words2: string): string =>
    problemOf({ number: 3, name: 'alice', words }, words2).what;

  test.each([
    [
      ['on', '+nosuch'],
      answer('+nosuch', 'Unknown command or category name in ACL'),
      'rule 2, +nosuch: Unknown command',
    ],
    [['onn'], answer('onn'), 'user alice: rule 1: Syntax error'],
    [
      ['>my', 'secret'],
      answer('secret'),
      'rule 2 (a password with a blank in it? give its SHA-256 as #…): Syntax error',
    ],
    [['>my', '+secret'], answer('+secret'), 'user alice: rule 2: Syntax error'],
    [['#secret'], answer('#secret', 'The password hash must be exactly 64 characters'), 'one of its passwords'],
    [["<it's secret"], answer("<it's secret", 'The password you are trying'), 'one of its passwords'],
    [['!secret'], answer('!***'), 'one of its passwords: Syntax error'],
    [['(~secret'], "ERR Unmatched parenthesis in acl selector starting at '(~secret'.", 'Unmatched parenthesis'],
    [['x'], 'ERR secret words of another version', 'user alice: Redis does not accept it'],
  ])('%j', (words, words2, expected) => {
    expect(told(words, words2)).toContain(expected);
    expect(told(words, words2)).not.toContain('secret');
  });

  test('a name that may be a password is not told', () => {
    expect(problemOf({ number: 1, name: '>secret', words: ['x'] }, answer('x')).what).not.toContain('secret');
  });
});
