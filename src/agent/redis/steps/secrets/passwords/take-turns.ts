import { DEFAULT_USER } from '../../../../../domain/redis/acl/wanted-users.ts';
import type { CredentialStatus } from '../../../../../domain/redis/cluster-view.ts';
import { masterauthOf } from '../../../../../domain/redis/credentials/masterauth.ts';
import type { Rotation } from '../../../../../domain/redis/credentials/rotation.ts';
import { formatTime } from '../../../../../domain/text/rfc3339.ts';
import { tryLogin } from '../../../connection/try-login.ts';
import type { StepContext } from '../../step.ts';
import { aclList } from '../acl/judge-acl.ts';
import { readPassword, readRotationKey, type SecretBytes, type SecretText } from '../secret-files.ts';
import { bringUsers, type SecretsMemory } from '../secrets-memory.ts';
import { passwordId, sha256 } from './known-passwords.ts';
import { primaryRefusal, readPrimaryLogin, setPrimaryLogin } from './primary-login.ts';
import type { Advance, RotationActs } from './rotate.ts';

export interface Turned {
  readonly status: CredentialStatus | undefined;
  readonly wakeAfterMs: number | undefined;
  /** The password of a source outside of the cluster, where one is named. */
  readonly upstream: SecretText | undefined;
}

export interface PasswordFacts {
  /** What the Secret holds, where one is named. */
  readonly password: SecretText | undefined;
  /** How many passwords the default user has from somebody else. */
  readonly strangers: number;
}

/** Brings the rotation on as far as the other pods allow, and gives Redis the password for its primary. */
export async function takeTurns(context: StepContext, memory: SecretsMemory, facts: PasswordFacts): Promise<Turned> {
  const { cluster, secrets, redis } = context;
  const { state, rotator } = memory;
  const { password } = facts;
  const source = cluster.replicaMode?.authSecret;
  const upstream = source === undefined ? undefined : readPassword(secrets, source);
  const giveLogin = await primaryLoginGiver(context, memory, upstream);
  const key = cluster.rotationKeySecret === undefined ? undefined : readRotationKey(secrets, cluster.rotationKeySecret);
  const id = await currentId(memory, password, key);
  const { rotation } = state.value;
  let advance: Advance | undefined;
  if (rotation && password?.kind === 'text') {
    const peers = new Map([...context.peers].map(([pod, entry]) => [pod, entry.credentials]));
    const others = { id, peers, lacksKey: key?.kind === 'bad', overlapMs: cluster.overlapMs, clock: context.clock };
    const use = async (used: Rotation): Promise<string | undefined> => {
      const why = upstream ? undefined : await primaryRefusal(redis, password.text, memory.upstreamTarget);
      if (why === undefined) await giveLogin(used);
      return why;
    };
    advance = await rotator.advance(rotation, others, { ...localActs(context, memory, password.text), use });
  }
  await giveLogin(state.value.rotation);
  return { status: statusOf(memory, { ...facts, key, advance }), wakeAfterMs: advance?.wakeAfterMs, upstream };
}

function localActs(context: StepContext, memory: SecretsMemory, password: string): Omit<RotationActs, 'use'> {
  const { redis, log } = context;
  const { state, localTarget } = memory;
  return {
    async prove() {
      const answer = await tryLogin(localTarget(), { user: DEFAULT_USER, password });
      return answer === 'accepted' ? undefined : 'Redis has the new password, but does not let anybody in with it';
    },
    drop: async (rotation) =>
      bringUsers(context, memory, { live: await aclList(redis), rotation, acl: state.value.acl, exactly: true }),
    async save(rotation) {
      if (rotation.phase !== state.value.rotation?.phase)
        log.info('the rotation of the password is in a new phase', { phase: rotation.phase });
      await state.save({ ...state.value, rotation });
    },
  };
}

/** Sets the password for the primary where it is not what it should be in a phase. Redis is asked once for what it has. */
async function primaryLoginGiver(
  { cluster, redis, log }: StepContext,
  { passwords }: SecretsMemory,
  upstream: SecretText | undefined,
): Promise<(rotation: Rotation | undefined) => Promise<void>> {
  let now = await readPrimaryLogin(redis);
  return async (rotation) => {
    const wish = masterauthOf({
      current: now.password,
      currentDigest: sha256(now.password),
      upstream: upstream && { password: upstream.kind === 'text' ? upstream.text : undefined },
      needsPassword: cluster.authSecret !== undefined,
      rotation,
      textOf: (digest) => passwords.textOf(digest),
    });
    if (wish === undefined || !(await setPrimaryLogin(redis, now, wish))) return;
    now = { user: DEFAULT_USER, password: wish };
    log.info(wish === '' ? 'no password is sent to a primary' : 'another password is sent to a primary');
  };
}

/** By which others know the newest password. It stays while a file is missing: they need not wait for this pod then. */
async function currentId(
  { state }: SecretsMemory,
  password: SecretText | undefined,
  key: SecretBytes | undefined,
): Promise<string | undefined> {
  if (password?.kind !== 'text' || key?.kind === 'bad') return state.value.id;
  const id = key && passwordId(key.bytes, password.text);
  if (id !== state.value.id) await state.save({ ...state.value, id });
  return id;
}

interface TurnFacts extends PasswordFacts {
  readonly key: SecretBytes | undefined;
  readonly advance: Advance | undefined;
}

function statusOf(
  { state }: SecretsMemory,
  { password, strangers, key, advance }: TurnFacts,
): CredentialStatus | undefined {
  const { id, rotation } = state.value;
  if (!rotation && !password) return undefined;
  const messages = [
    advance?.message,
    password?.kind === 'bad' ? `${password.problem.where} ${password.problem.what}` : undefined,
    password ? undefined : 'spec.authSecret is gone: the passwords that were accepted stay',
    strangers > 0
      ? `user default has ${strangers} more, not from the Secret: they end with the next rotation`
      : undefined,
    key?.kind === 'bad'
      ? `a new password is accepted, but not used before there is a key: ${key.problem.where} ${key.problem.what}`
      : undefined,
    password && !key && id === undefined ? ALONE : undefined,
  ].filter((message) => message !== undefined);
  return {
    id,
    phase: rotation?.phase,
    since: rotation?.sinceMs === undefined ? undefined : formatTime(rotation.sinceMs / 1000),
    message: messages.length === 0 ? undefined : messages.join('; '),
  };
}

const ALONE = 'rotates alone: name a Secret with a key in spec.rotationKeySecret, and pods wait for each other';
