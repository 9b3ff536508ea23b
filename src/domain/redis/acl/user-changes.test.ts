import { describe, expect, test } from 'vitest';
import { parseAclUsers, renderAclFile } from './acl-user.ts';
import { type DefaultGoal, userChanges } from './user-changes.ts';
import { wantedUsers } from './wanted-users.ts';

const AS_IT_IS: DefaultGoal = { manage: 'none', ours: [], exactly: false };
const users = (...lines: readonly string[]) => [...parseAclUsers(lines).values()];

/** As `name: words`, or `-name`. */
function changes(
  live: readonly string[],
  wanted: readonly string[],
  goal: { readonly made?: readonly string[]; readonly standard?: Partial<DefaultGoal> } = {},
): readonly string[] {
  const { made = [], standard } = goal;
  return userChanges(parseAclUsers(live), {
    users: users(...wanted),
    made,
    standard: { ...AS_IT_IS, ...standard },
  }).map((change) => (change.kind === 'set' ? `${change.user.name}: ${change.words.join(' ')}` : `-${change.name}`));
}

describe('users', () => {
  test.each([
    ['the same', ['user a on #1 #2 ~* -@all +get'], ['user a on #2 #1 ~* -@all +get'], []],
    ['the same to Redis', ['user a on sanitize-payload #1 -@all'], ['user a on #1 -@all'], []],
    ['new', [], ['user a on #1 ~x* -@all +get'], ['a: reset on #1 ~x* -@all +get']],
    ['other rules', ['user a on #1 -@all'], ['user a on #1 +@all'], ['a: reset on #1 +@all']],
    ['a password more', ['user a on #1 -@all'], ['user a on #1 #2 -@all'], ['a: #2']],
    ['another password', ['user a on #1 -@all'], ['user a on #2 -@all'], ['a: resetpass #2']],
    ['a password less', ['user a on #1 #2 -@all'], ['user a on #2 -@all'], ['a: resetpass #2']],
    ['no password', ['user a on #1 -@all'], ['user a on -@all'], ['a: resetpass']],
    ['no longer open', ['user a on nopass -@all'], ['user a on -@all'], ['a: resetpass']],
    ['open', ['user a on #1 -@all'], ['user a on nopass -@all'], ['a: reset on nopass -@all']],
    ['off', ['user a on #1 -@all'], ['user a off #1 -@all'], ['a: off']],
    ["somebody else's", ['user vault on #1 -@all'], [], []],
    [
      'in the order of another process',
      ['user a on -@all +@hash +set -get (-@all +b +a)'],
      ['user a on -@all +@hash -get +set (-@all +a +b)'],
      [],
    ],
    [
      'subcommands',
      ['user a on -@all +set +config -config|set +get'],
      ['user a on -@all +get +config -config|set +set'],
      [],
    ],
    [
      'single commands before a category',
      ['user a on -@all -get +@read'],
      ['user a on -@all +@read -get'],
      ['a: reset on -@all +@read -get'],
    ],
    ['the order of rules counts', ['user a on +@all -get'], ['user a on -get +@all'], ['a: reset on -get +@all']],
  ])('%s', (_, live, wanted, expected) => {
    expect(changes(live, wanted)).toEqual(expected);
  });

  test('only our own are deleted, and only those that are there, at last', () => {
    const live = ['user a on -@all', 'user vault on -@all'];
    expect(changes(live, ['user b on -@all'], { made: ['a', 'b', 'gone'] })).toEqual(['b: reset on -@all', '-a']);
  });
});

describe('the default user', () => {
  const ALL = '~* &* +@all';
  test.each<readonly [string, string, string, Partial<DefaultGoal>, readonly string[]]>([
    ['no wish', `on nopass ${ALL}`, `on #1 ${ALL}`, {}, []],
    ['open', `on nopass ${ALL}`, `on #1 ${ALL}`, { manage: 'passwords' }, ['#1']],
    ['off', `off #1 ${ALL}`, `on #1 ${ALL}`, { manage: 'passwords' }, ['on']],
    ['others keep theirs', `on #9 ${ALL}`, `on #1 ${ALL}`, { manage: 'passwords' }, ['#1']],
    ['ours go', `on #1 #9 ${ALL}`, `on #2 ${ALL}`, { manage: 'passwords', ours: ['1'] }, ['resetpass #2 #9']],
    ['exactly', `on #1 #9 ${ALL}`, `on #2 ${ALL}`, { manage: 'passwords', exactly: true }, ['resetpass #2']],
    ["rules are somebody else's", 'on #1 -@all', `on #1 ${ALL}`, { manage: 'passwords' }, []],
    ['all of it', 'on #1 -@all', `on #1 ${ALL}`, { manage: 'all' }, [`reset on #1 ${ALL}`]],
  ])('%s', (...[, live, wanted, standard, expected]) => {
    const words = expected.map((some) => `default: ${some}`);
    expect(changes([`user default ${live}`], [`user default ${wanted}`], { standard })).toEqual(words);
  });
});

describe('users of the next start', () => {
  const NOBODY = { passwords: [], needsPassword: false, acl: [], agent: undefined };
  test.each([
    ['nothing is wished', NOBODY, 'user default on nopass ~* &* +@all\n'],
    ['passwords', { ...NOBODY, passwords: ['1', '2'] }, 'user default on #1 #2 ~* &* +@all\n'],
    ['A10 one that is not known', { ...NOBODY, needsPassword: true }, 'user default on ~* &* +@all\n'],
    [
      'rules and passwords of the text',
      { ...NOBODY, passwords: ['1'], acl: users('user default on #1 #3 -@all +ping', 'user a on #4 -@all') },
      'user default on #1 #3 -@all +ping\nuser a on #4 -@all\n',
    ],
    [
      'a text cannot open what a password closes',
      { ...NOBODY, passwords: ['1'], acl: users('user default on nopass ~* +@all') },
      'user default on #1 ~* +@all\n',
    ],
    [
      'a text alone can',
      { ...NOBODY, acl: users('user default on nopass ~* +get') },
      'user default on nopass ~* +get\n',
    ],
  ])('%s', (_, wishes, text) => {
    expect(renderAclFile(wantedUsers(wishes))).toBe(text);
  });
});
