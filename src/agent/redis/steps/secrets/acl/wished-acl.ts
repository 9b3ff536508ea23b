import { join } from 'node:path';
import { DEFAULT_USER } from '../../../../../domain/redis/acl/wanted-users.ts';
import type { AclStatus, Problem } from '../../../../../domain/redis/cluster-view.ts';
import type { PrepareContext } from '../../step.ts';
import { countsForMs } from '../../try-again.ts';
import { sha256 } from '../passwords/known-passwords.ts';
import { readAcl } from '../secret-files.ts';
import type { AcceptedAcl, RefusedAcl, SecretsStateFile } from '../secrets-state.ts';
import { judgeAcl } from './judge-acl.ts';

/** The ACL that is to count: a new one that was proven, or the last one that was. */
export interface WishedAcl {
  readonly acl: AcceptedAcl | undefined;
  /** The file with the text. */
  readonly where: string;
  /** Why the text of the Secret is not it. */
  readonly problem?: Problem | undefined;
  /** The file itself is at fault, not its text: nobody was told of it yet. */
  readonly isUntold?: boolean | undefined;
}

/** Looks at the text; a content is tried once, whether it is accepted or refused, unless only the running Redis refused it. */
export async function wishedAcl(context: PrepareContext, state: SecretsStateFile): Promise<WishedAcl> {
  const { cluster, secrets, settings } = context;
  const { acl } = state.value;
  const where = aclPath(context);
  if (cluster.aclSecret === undefined) return { acl, where };
  const file = readAcl(secrets, cluster.aclSecret);
  if (file.kind === 'bad') return { acl, where, problem: file.problem, isUntold: true };
  const digest = sha256(file.text);
  if (digest === acl?.digest) return { acl, where };
  if (digest !== state.value.refused?.digest || refusedForMs(context, state) === undefined) {
    const verdict = await judgeAcl(file.text, {
      tryServer: context.tryServer,
      agentIsDefault: settings.mode === 'sidecar',
    });
    if (verdict.ok) return { where, acl: { digest, users: verdict.users, kept: keptPasswords(verdict.users, state) } };
    await refuseAcl(context, state, { digest, message: verdict.message });
  }
  return { acl, where, problem: { where, what: state.value.refused?.message ?? '' } };
}

/** How long the text that was refused last is not tried again. */
export const refusedForMs = ({ clock }: PrepareContext, { value }: SecretsStateFile): number | undefined =>
  countsForMs(value.refused?.atMs, clock.wall());

/** A text is refused: that is told once. */
export async function refuseAcl(context: PrepareContext, state: SecretsStateFile, refused: RefusedAcl): Promise<void> {
  const { digest, message } = state.value.refused ?? {};
  await state.save({ ...state.value, refused });
  if (digest === refused.digest && message === refused.message) return;
  context.event(
    'Warning',
    'ACLRefused',
    `${context.settings.podName}: ${aclPath(context)}: ${refused.message}; the users stay as they are`,
  );
}

const aclPath = ({ cluster, secrets }: PrepareContext): string => join(secrets.root, cluster.aclSecret ?? '', 'acl');

/** A text that no longer names the default user must not open the door that the last one closed. */
function keptPasswords(users: AcceptedAcl['users'], { value }: SecretsStateFile): readonly string[] | undefined {
  if (value.rotation || users.some(({ name }) => name === DEFAULT_USER)) return undefined;
  const before = value.acl?.users.find(({ name }) => name === DEFAULT_USER)?.passwords;
  return before ?? value.acl?.kept;
}

/** `used` is the ACL that Redis has. */
export function aclStatus(
  context: PrepareContext,
  used: AcceptedAcl | undefined,
  problem?: Problem,
): AclStatus | undefined {
  const users = used?.users.length;
  if (problem) return { state: 'Refused', users, message: `${problem.where}: ${problem.what}` };
  if (!used) return undefined;
  const isGone = context.cluster.aclSecret === undefined;
  const opens = used.users.some(({ name, nopass }) => name === DEFAULT_USER && nopass);
  if (isGone)
    return { state: 'Applied', users, message: 'spec.aclConfigSecret is gone: the users of its last text stay' };
  return opens && context.cluster.authSecret !== undefined
    ? { state: 'Applied', users, message: '"nopass" of user default does not count: spec.authSecret sets its password' }
    : { state: 'Applied', users };
}
