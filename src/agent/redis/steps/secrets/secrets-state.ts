import type { AclUser } from '../../../../domain/redis/acl/acl-user.ts';
import type { Rotation } from '../../../../domain/redis/credentials/rotation.ts';
import { StateFile } from '../../../state/state-file.ts';

/** What must be known of passwords and users after the agent was killed. No password is in it but by its SHA-256. */
export interface SecretsState {
  readonly rotation?: Rotation | undefined;
  /** As others were told the newest password last. */
  readonly id?: string | undefined;
  /** The last text that was accepted. */
  readonly acl?: AcceptedAcl | undefined;
  /** Users that an accepted text has made, or may have made before the agent was killed. */
  readonly made?: readonly string[] | undefined;
  /** The last text that was refused. */
  readonly refused?: RefusedAcl | undefined;
  /** What was wrong with the files of Secrets when that was last told by an Event. */
  readonly told?: readonly string[] | undefined;
}

export interface AcceptedAcl {
  /** SHA-256 of the text. */
  readonly digest: string;
  readonly users: readonly AclUser[];
  /** Passwords that an earlier text gave the default user, who would be open to all without them. */
  readonly kept?: readonly string[] | undefined;
}

export interface RefusedAcl {
  /** SHA-256 of the text. */
  readonly digest: string;
  readonly message: string;
  /** When the running Redis did not take it. Missing: the text itself is wrong, and is not tried again. */
  readonly atMs?: number | undefined;
}

export type SecretsStateFile = StateFile<SecretsState>;

export const openSecretsState = (folder: string): SecretsStateFile =>
  new StateFile<SecretsState>(folder, 'secrets', {});
