import { AGENT_USER } from '../../../../domain/redis/acl/acl-text.ts';
import { type AclUser, renderAclFile } from '../../../../domain/redis/acl/acl-user.ts';
import { DEFAULT_USER } from '../../../../domain/redis/acl/wanted-users.ts';
import { accept, type Rotation } from '../../../../domain/redis/credentials/rotation.ts';
import type { PrepareContext } from '../step.ts';
import { wishedAcl } from './acl/wished-acl.ts';
import { sha256 } from './passwords/known-passwords.ts';
import { readPassword } from './secret-files.ts';
import { type SecretsMemory, usersGoal } from './secrets-memory.ts';
import type { AcceptedAcl } from './secrets-state.ts';
import { writeUsersFile } from './users.ts';

/** Makes the ACL file one with which Redis starts, with every password that is to count from its first moment on. */
export async function prepareUsers(context: PrepareContext, memory: SecretsMemory): Promise<void> {
  const { state, aclFile } = memory;
  const acl = await provenAcl(context, memory);
  const rotation = rotationWith(context, state.value.rotation);
  if (acl !== state.value.acl || rotation !== state.value.rotation)
    await state.save({ ...state.value, rotation, acl, made: madeWith(acl, state.value.made) });
  const { users } = await usersGoal({ rotation, acl }, context.cluster, memory);
  if (aclFile !== undefined) await writeUsersFile(aclFile, await startable(users, context));
}

/** A server that still lives, and is taken over instead of started anew, has the users of the last text yet. */
const madeWith = (acl: AcceptedAcl | undefined, made: readonly string[] = []): readonly string[] => [
  ...new Set([...made, ...(acl?.users ?? []).map(({ name }) => name)]),
];

function rotationWith({ cluster, secrets }: PrepareContext, rotation: Rotation | undefined): Rotation | undefined {
  const password = cluster.authSecret === undefined ? undefined : readPassword(secrets, cluster.authSecret);
  return password?.kind === 'text' ? accept(rotation, sha256(password.text)) : rotation;
}

/** What cannot be proven now is left for later: Redis has to start. */
async function provenAcl(context: PrepareContext, { state }: SecretsMemory): Promise<AcceptedAcl | undefined> {
  try {
    return (await wishedAcl(context, state)).acl;
  } catch (error) {
    context.log.warn('the ACL text could not be tried, the last accepted one counts', { error: String(error) });
    return state.value.acl;
  }
}

/**
 * Users that a Redis of this version accepts. Where a new version refuses the rules of an earlier one it starts with the
 * logins that are needed most, instead of not at all or open to everybody.
 */
async function startable(users: readonly AclUser[], { tryServer, log }: PrepareContext): Promise<readonly AclUser[]> {
  const starts = async (some: readonly AclUser[]): Promise<boolean> => {
    try {
      return (await tryServer({ directives: [], acl: renderAclFile(some) }, async () => undefined)).ok;
    } catch {
      return false;
    }
  };
  if (await starts(users)) return users;
  const few = users.filter(({ name }) => name === DEFAULT_USER || name === AGENT_USER);
  if (few.length === users.length || !(await starts(few))) return users;
  log.error('Redis starts without the users of the ACL text: it no longer takes their rules', { users: users.length });
  return few;
}
