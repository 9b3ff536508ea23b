import type { AclUser } from '../../../../domain/redis/acl/acl-user.ts';
import { DEFAULT_USER } from '../../../../domain/redis/acl/wanted-users.ts';
import type { Problem } from '../../../../domain/redis/cluster-view.ts';
import { accept } from '../../../../domain/redis/credentials/rotation.ts';
import type { StepContext } from '../step.ts';
import { aclList } from './acl/judge-acl.ts';
import { aclStatus, refuseAcl, refusedForMs, type WishedAcl, wishedAcl } from './acl/wished-acl.ts';
import { sha256 } from './passwords/known-passwords.ts';
import { takeTurns } from './passwords/take-turns.ts';
import { readPassword, type SecretText } from './secret-files.ts';
import { bringUsers, type SecretsMemory, strangersAmong } from './secrets-memory.ts';
import type { SecretsReport } from './secrets-report.ts';
import { tellProblems } from './tell-problems.ts';
import { UserRefused } from './users.ts';

/** Users first, so that a password counts before anybody is told to use it. */
export async function applySecrets(context: StepContext, memory: SecretsMemory): Promise<SecretsReport> {
  const { cluster, secrets, redis } = context;
  const { state } = memory;
  const password = cluster.authSecret === undefined ? undefined : readPassword(secrets, cluster.authSecret);
  const live = await aclList(redis);
  await takePassword(password, live, memory);
  const wished = await wishedAcl(context, state);
  const problem = await bringAcl(context, live, { memory, wished });
  const strangers = state.value.rotation?.phase === 'Settled' ? strangersAmong(live, state.value) : 0;
  const turned = await takeTurns(context, memory, { password, strangers });
  const passwords = [password, turned.upstream].flatMap((file) => (file?.kind === 'bad' ? [file.problem] : []));
  await tellProblems(context, state, { passwords, acl: wished.isUntold ? problem : undefined });
  return {
    credentials: turned.status,
    acl: aclStatus(context, state.value.acl, problem),
    problems: problem ? [...passwords, problem] : passwords,
    wakeAfterMs: soonest(turned.wakeAfterMs, problem && refusedForMs(context, state)),
  };
}

const soonest = (...times: readonly (number | undefined)[]): number | undefined => {
  const first = Math.min(...times.map((ms) => ms ?? Number.POSITIVE_INFINITY));
  return Number.isFinite(first) ? first : undefined;
};

/** From now on it is to open this Redis, beside the earlier ones. Passwords that a Redis already has are in use. */
async function takePassword(
  password: SecretText | undefined,
  live: ReadonlyMap<string, AclUser>,
  { state }: SecretsMemory,
): Promise<void> {
  if (password?.kind !== 'text') return;
  const { rotation, acl } = state.value;
  const written = acl?.users.find(({ name }) => name === DEFAULT_USER)?.passwords ?? [];
  const found = live.get(DEFAULT_USER)?.passwords.filter((other) => !written.includes(other));
  const next = accept(rotation, sha256(password.text), found);
  if (next !== rotation) await state.save({ ...state.value, rotation: next });
}

/**
 * Makes the users of file and Redis those of the text. A Redis that does not take them, though the throw-away server did,
 * gets back those of the last text. Gives what is wrong with the text, in either case.
 */
async function bringAcl(
  context: StepContext,
  live: ReadonlyMap<string, AclUser>,
  { memory, wished }: { readonly memory: SecretsMemory; readonly wished: WishedAcl },
): Promise<Problem | undefined> {
  const { state } = memory;
  const { acl: last, rotation, made = [] } = state.value;
  const isNew = wished.acl !== last;
  // Known before they are made: killed in between, the agent still knows them for its own.
  if (isNew) await state.save({ ...state.value, made: [...new Set([...made, ...namesOf(wished.acl)])] });
  try {
    await bringUsers(context, memory, { live, rotation, acl: wished.acl });
  } catch (error) {
    if (!(error instanceof UserRefused)) throw error;
    const problem = { where: wished.where, what: error.message };
    if (!isNew) return problem;
    await refuseAcl(context, state, {
      digest: wished.acl?.digest ?? '',
      message: error.message,
      atMs: context.clock.wall(),
    });
    await bringUsers(context, memory, { live: await aclList(context.redis), rotation, acl: last });
    await state.save({ ...state.value, made: namesOf(last) });
    return problem;
  }
  if (isNew) context.log.info('the users of a new ACL text count', { users: wished.acl?.users.length });
  if (isNew || made.length !== namesOf(wished.acl).length)
    await state.save({ ...state.value, acl: wished.acl, made: namesOf(wished.acl) });
  return wished.problem;
}

const namesOf = (acl: WishedAcl['acl']): readonly string[] => acl?.users.map(({ name }) => name) ?? [];
