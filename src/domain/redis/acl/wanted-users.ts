import type { AclUser } from './acl-user.ts';

export interface UserWishes {
  /** SHA-256 of the passwords of the default user that come from the Secret for them. */
  readonly passwords: readonly string[];
  /** Such a Secret is named, even if its password is not known. */
  readonly needsPassword: boolean;
  /** The users of the ACL text, `default` perhaps among them. */
  readonly acl: readonly AclUser[];
  /** The agent's own login. */
  readonly agent: AclUser | undefined;
}

export const DEFAULT_USER = 'default';
const EVERYTHING = ['~*', '&*', '+@all'];

/** Whoever may do everything with this password. */
export const mighty = (name: string, passwords: readonly string[]): AclUser => ({
  name,
  on: true,
  nopass: false,
  passwords,
  rules: EVERYTHING,
});

/**
 * All users of the next start. A password that is asked for but not known leaves the default user without any: then nobody
 * comes in by it, instead of everybody.
 */
export function wantedUsers(wishes: UserWishes): readonly AclUser[] {
  const { passwords, needsPassword, acl, agent } = wishes;
  const written = acl.find(({ name }) => name === DEFAULT_USER);
  const own = written ?? { ...mighty(DEFAULT_USER, []), nopass: true };
  const standard: AclUser = {
    ...own,
    nopass: own.nopass && !needsPassword && passwords.length === 0,
    passwords: [...new Set([...passwords, ...own.passwords])],
  };
  return [standard, ...(agent ? [agent] : []), ...acl.filter(({ name }) => name !== DEFAULT_USER)];
}
