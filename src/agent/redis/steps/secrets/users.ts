import { readFile } from 'node:fs/promises';
import { userNamed } from '../../../../domain/redis/acl/acl-text.ts';
import { type AclUser, renderAclFile, sameRules } from '../../../../domain/redis/acl/acl-user.ts';
import { type UserChange, type UserGoal, userChanges } from '../../../../domain/redis/acl/user-changes.ts';
import { writeAtomically } from '../../../state/state-file.ts';
import { type Redis, RedisRefusal } from '../../connection/redis.ts';
import { aclList } from './acl/judge-acl.ts';

/** A running Redis does not take a user which a throw-away server took. */
export class UserRefused extends Error {
  override readonly name = 'UserRefused';
}

/** Writes the users of the next start, if the file does not have them already. */
export async function writeUsersFile(path: string, users: readonly AclUser[]): Promise<void> {
  const text = renderAclFile(users);
  const current = await readFile(path, 'utf8').catch(() => undefined);
  if (current !== text) await writeAtomically(path, text);
}

/** Makes the users of a running Redis the wished ones, and looks whether they are. */
export class LiveUsers {
  /** Another version of Redis writes the same rules in another way: what it makes of ours, by the name of the user. */
  readonly #written = new Map<string, { readonly ours: AclUser; readonly theirs: AclUser }>();

  /** `live` is what the Redis has. Sends nothing where that is right already. */
  async bring(redis: Redis, live: ReadonlyMap<string, AclUser>, goal: UserGoal): Promise<void> {
    const changes = userChanges(this.#inOurWords(live), goal);
    if (changes.length === 0) return;
    for (const change of changes) await carryOut(redis, change);
    const first = await aclList(redis);
    const left = userChanges(this.#inOurWords(first), goal);
    if (left.length === 0) return;
    // Once more: if it comes out the same again it is Redis's way to write it, and nobody's who interferes.
    for (const change of left) await carryOut(redis, change);
    const second = await aclList(redis);
    for (const change of left) if (change.kind === 'set') this.#learn(change.user, first, second);
    const odd = userChanges(this.#inOurWords(second), goal).map(nameOf);
    if (odd.length > 0) throw new UserRefused(`${odd.join(', ')}: Redis shows other rules than those that were set`);
  }

  #learn(ours: AclUser, first: ReadonlyMap<string, AclUser>, second: ReadonlyMap<string, AclUser>): void {
    const [before, theirs] = [first.get(ours.name), second.get(ours.name)];
    if (before && theirs && sameRules(before, theirs)) this.#written.set(ours.name, { ours, theirs });
  }

  #inOurWords(live: ReadonlyMap<string, AclUser>): ReadonlyMap<string, AclUser> {
    return new Map(
      [...live].map(([name, user]) => {
        const known = this.#written.get(name);
        return [name, known && sameRules(known.theirs, user) ? { ...user, rules: known.ours.rules } : user];
      }),
    );
  }
}

async function carryOut(redis: Redis, change: UserChange): Promise<void> {
  if (change.kind === 'delete') {
    await redis.send('ACL', 'DELUSER', change.name);
    return;
  }
  try {
    await redis.send('ACL', 'SETUSER', change.user.name, ...change.words);
  } catch (error) {
    if (!(error instanceof RedisRefusal) || error.code !== 'ERR') throw error;
    const words = `${nameOf(change)}: the running Redis does not take its rules: is it another version?`;
    throw new UserRefused(words, { cause: error });
  }
}

const nameOf = (change: UserChange): string => userNamed(change.kind === 'set' ? change.user.name : change.name);
