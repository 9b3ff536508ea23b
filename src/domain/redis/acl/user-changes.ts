import { type AclUser, aclWords, samePasswords, sameRules, sameUser } from './acl-user.ts';
import { DEFAULT_USER } from './wanted-users.ts';

/** A command for Redis: `ACL SETUSER name words…`, or `ACL DELUSER name`. */
export type UserChange =
  | { readonly kind: 'set'; readonly user: AclUser; readonly words: readonly string[] }
  | { readonly kind: 'delete'; readonly name: string };

export interface UserGoal {
  readonly users: readonly AclUser[];
  /** Names that may be deleted: somebody else's users never are. */
  readonly made: readonly string[];
  readonly standard: DefaultGoal;
}

/** How far the default user, which is there without anybody's doing, is to become as wished. */
export interface DefaultGoal {
  /** None: there is no wish about it. Passwords: its rules are somebody else's. */
  readonly manage: 'none' | 'passwords' | 'all';
  /** Passwords that were wished for: they go when they no longer are. All others stay. */
  readonly ours: readonly string[];
  /** No password stays but those that are wished. */
  readonly exactly: boolean;
}

/**
 * What makes the users of a Redis those that are wished, and touches nobody else: `ACL LOAD` would close the connections of
 * all. Each is one command, which Redis carries out as a whole; deleting comes last.
 */
export function userChanges(live: ReadonlyMap<string, AclUser>, goal: UserGoal): readonly UserChange[] {
  const wanted = goal.users.flatMap((user) =>
    user.name === DEFAULT_USER ? defaultUser(live.get(DEFAULT_USER), user, goal.standard) : [user],
  );
  const names = new Set([DEFAULT_USER, ...goal.users.map(({ name }) => name)]);
  const gone = goal.made.filter((name) => live.has(name) && !names.has(name));
  return [
    ...wanted.flatMap((user): UserChange[] => {
      const now = live.get(user.name);
      return now && sameUser(now, user) ? [] : [{ kind: 'set', user, words: wordsTo(now, user) }];
    }),
    ...gone.map((name): UserChange => ({ kind: 'delete', name })),
  ];
}

function defaultUser(live: AclUser | undefined, wish: AclUser, goal: DefaultGoal): readonly AclUser[] {
  if (!live || goal.manage === 'all') return [{ ...wish, passwords: passwordsOf(live, wish, goal) }];
  if (goal.manage === 'none') return [];
  return [{ ...wish, rules: live.rules, passwords: passwordsOf(live, wish, goal) }];
}

function passwordsOf(live: AclUser | undefined, wish: AclUser, { ours, exactly }: DefaultGoal): readonly string[] {
  const others = exactly ? [] : (live?.passwords ?? []).filter((password) => !ours.includes(password));
  return wish.nopass ? [] : [...new Set([...wish.passwords, ...others])];
}

/** As little as does it: a password more, other passwords, or everything. */
function wordsTo(now: AclUser | undefined, user: AclUser): readonly string[] {
  if (!now || !sameRules(now, user) || user.nopass) return ['reset', ...aclWords(user)];
  const switched = now.on === user.on ? [] : [user.on ? 'on' : 'off'];
  if (samePasswords(now, user)) return switched;
  const isKept = now.passwords.every((password) => user.passwords.includes(password));
  const added = user.passwords.filter((password) => !isKept || !now.passwords.includes(password));
  return [
    ...switched,
    ...(isKept && added.length > 0 ? [] : ['resetpass']),
    ...added.map((password) => `#${password}`),
  ];
}
