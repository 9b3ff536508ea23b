import type { AclUser } from '../../../../domain/redis/acl/acl-user.ts';
import type { UserGoal } from '../../../../domain/redis/acl/user-changes.ts';
import { DEFAULT_USER, wantedUsers } from '../../../../domain/redis/acl/wanted-users.ts';
import type { ClusterView } from '../../../../domain/redis/cluster-view.ts';
import type { Rotation } from '../../../../domain/redis/credentials/rotation.ts';
import type { RedisTarget } from '../../connection/target.ts';
import type { StepContext } from '../step.ts';
import type { AgentLogin } from './agent-login.ts';
import type { KnownPasswords } from './passwords/known-passwords.ts';
import type { Rotator } from './passwords/rotate.ts';
import type { AcceptedAcl, SecretsState, SecretsStateFile } from './secrets-state.ts';
import { type LiveUsers, writeUsersFile } from './users.ts';

/** What outlives a pass. */
export interface SecretsMemory {
  readonly state: SecretsStateFile;
  readonly passwords: KnownPasswords;
  readonly agent: AgentLogin;
  /** Undefined where the file of the next start is somebody else's. */
  readonly aclFile: string | undefined;
  readonly users: LiveUsers;
  readonly rotator: Rotator;
  readonly localTarget: () => RedisTarget;
  readonly upstreamTarget: (host: string, port: number) => RedisTarget;
}

interface Wishes {
  readonly rotation: Rotation | undefined;
  readonly acl: AcceptedAcl | undefined;
  /** The earlier passwords of the default user end now, whoever has set them. */
  readonly exactly?: boolean;
}

/** All users as they are wished, of the next start and of the running Redis. */
export async function usersGoal(
  wishes: Wishes,
  cluster: ClusterView,
  { state, agent }: SecretsMemory,
): Promise<UserGoal> {
  const { rotation, acl, exactly = false } = wishes;
  const { made = [] } = state.value;
  const users = wantedUsers({
    passwords: [...(rotation?.accepted ?? []), ...(acl?.kept ?? [])],
    needsPassword: cluster.authSecret !== undefined,
    acl: acl?.users ?? [],
    agent: await agent.user(),
  });
  const named = made.includes(DEFAULT_USER) || acl?.users.some(isDefault) === true;
  return { users, made, standard: { manage: managed(named, rotation), ours: oursIn(state.value), exactly } };
}

/** Makes users the wished ones: in the file first, so that a restart at any moment knows all that Redis was told. */
export async function bringUsers(
  { redis, cluster }: StepContext,
  memory: SecretsMemory,
  { live, ...wishes }: Wishes & { readonly live: ReadonlyMap<string, AclUser> },
): Promise<void> {
  const goal = await usersGoal(wishes, cluster, memory);
  if (memory.aclFile !== undefined) await writeUsersFile(memory.aclFile, goal.users);
  await memory.users.bring(redis, live, goal);
}

const managed = (isNamed: boolean, rotation: Rotation | undefined): UserGoal['standard']['manage'] => {
  if (isNamed) return 'all';
  return rotation ? 'passwords' : 'none';
};

const isDefault = ({ name }: AclUser): boolean => name === DEFAULT_USER;

/** How many passwords the default user has that nobody wishes: they stay until a rotation ends. */
export const strangersAmong = (live: ReadonlyMap<string, AclUser>, state: SecretsState): number =>
  live.get(DEFAULT_USER)?.passwords.filter((password) => !oursIn(state).includes(password)).length ?? 0;

/** Passwords that the default user has from us. */
const oursIn = ({ rotation, acl }: SecretsState): readonly string[] => [
  ...(rotation?.accepted ?? []),
  ...(acl?.kept ?? []),
  ...(acl?.users.find(isDefault)?.passwords ?? []),
];
