/** A user as `ACL LIST` shows it, and as an ACL file has it. */
export interface AclUser {
  readonly name: string;
  readonly on: boolean;
  /** Whatever password is given counts. */
  readonly nopass: boolean;
  /** SHA-256, 64 hex digits. */
  readonly passwords: readonly string[];
  /** Keys, channels, commands and selectors, in their order, which counts. */
  readonly rules: readonly string[];
}

/** By name, from the lines of `ACL LIST` or of an ACL file; lines that are none of these are left out. */
export function parseAclUsers(lines: Iterable<string>): ReadonlyMap<string, AclUser> {
  const users = Array.from(lines, parseAclUser).filter((user) => user !== undefined);
  return new Map(users.map((user) => [user.name, user]));
}

function parseAclUser(line: string): AclUser | undefined {
  const [keyword, name, ...words] = line.split(' ').filter((word) => word !== '');
  if (keyword !== 'user' || name === undefined) return undefined;
  return {
    name,
    on: words.includes('on'),
    nopass: words.includes('nopass'),
    passwords: words.filter((word) => word.startsWith('#')).map((word) => word.slice(1)),
    rules: inOrder(words.filter((word) => !word.startsWith('#') && !NOT_RULES.includes(word))),
  };
}

/** `sanitize-payload` is how it is anyway; Redis shows it only of users that somebody has reset. */
const NOT_RULES: readonly string[] = ['on', 'off', 'nopass', 'sanitize-payload'];

/**
 * Redis shows single commands in an order that is another one in every process. Among themselves it does not count, but
 * between categories it does; a command comes before its subcommands, as it does in the alphabet.
 */
function inOrder(rules: readonly string[]): readonly string[] {
  const runs: string[][] = [];
  for (const [at, rule] of rules.entries()) {
    const before = rules[at - 1] ?? '';
    const goesOn = isCommand(rule) && isCommand(before) && !before.endsWith(')');
    if (goesOn) runs.at(-1)?.push(rule);
    else runs.push([rule]);
  }
  return runs.flatMap((run) => {
    const end = run.length > 1 && run.at(-1)?.endsWith(')') ? ')' : '';
    const commands = run.map((rule) => (end === '' ? rule : rule.replace(/\)$/, '')));
    return commands.toSorted(byCommand).map((rule, at) => (at === run.length - 1 ? `${rule}${end}` : rule));
  });
}

const isCommand = (rule: string): boolean => /^[-+][^@]/.test(rule);

const byCommand = (a: string, b: string): number => (a.slice(1) < b.slice(1) ? -1 : 1);

/** What makes this user of one that was reset. */
export const aclWords = ({ on, nopass, passwords, rules }: AclUser): readonly string[] => [
  on ? 'on' : 'off',
  ...(nopass ? ['nopass'] : []),
  ...passwords.map((password) => `#${password}`),
  ...rules,
];

/** An ACL file. */
export const renderAclFile = (users: Iterable<AclUser>): string =>
  Array.from(users, (user) => `${['user', user.name, ...aclWords(user)].join(' ')}\n`).join('');

/** The order of passwords does not count. */
export const samePasswords = (a: AclUser, b: AclUser): boolean =>
  a.nopass === b.nopass && a.passwords.length === b.passwords.length && a.passwords.every(isOf(b.passwords));

export const sameRules = (a: AclUser, b: AclUser): boolean => a.rules.join(' ') === b.rules.join(' ');

export const sameUser = (a: AclUser, b: AclUser): boolean => a.on === b.on && samePasswords(a, b) && sameRules(a, b);

const isOf =
  (list: readonly string[]) =>
  (item: string): boolean =>
    list.includes(item);
