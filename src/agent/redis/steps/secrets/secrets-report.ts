import type { AclStatus, CredentialStatus, Problem } from '../../../../domain/redis/cluster-view.ts';

export interface SecretsReport {
  readonly credentials: CredentialStatus | undefined;
  readonly acl: AclStatus | undefined;
  readonly problems: readonly Problem[];
  /** The step wants to be called again then, even if nothing changes. */
  readonly wakeAfterMs?: number | undefined;
}
