import { existsSync } from 'node:fs';
import type { Credential } from '../../connection/redis.ts';
import type { RedisTarget } from '../../connection/target.ts';
import type { RedisAgentSettings } from '../../settings.ts';
import type { Directive, PrepareContext, StepContext } from '../step.ts';
import { AgentLogin } from './agent-login.ts';
import { applySecrets } from './apply-secrets.ts';
import { KnownPasswords } from './passwords/known-passwords.ts';
import { Rotator } from './passwords/rotate.ts';
import { prepareUsers } from './prepare-users.ts';
import { readPassword } from './secret-files.ts';
import type { SecretsMemory } from './secrets-memory.ts';
import type { SecretsReport } from './secrets-report.ts';
import { openSecretsState } from './secrets-state.ts';
import { LiveUsers } from './users.ts';

export interface SecretsOptions {
  /** Where a login of its own reaches the local Redis. */
  readonly localTarget: () => RedisTarget;
  /** Where a login reaches the primary of a replica, by TLS if the cluster speaks it. */
  readonly upstreamTarget: (host: string, port: number) => RedisTarget;
}

export interface SecretsStep {
  /** Sees the passwords of the Secret, so that `credentials` has them. For the beginning of a pass: it asks no Redis. */
  learn(context: PrepareContext): void;
  prepare(context: PrepareContext): Promise<readonly Directive[]>;
  apply(context: StepContext): Promise<SecretsReport>;
  /** What may open the local Redis, the best first. */
  credentials(): readonly Credential[];
}

/** Passwords and users: from the files of Secrets into Redis, and into the file of the next start. */
export function createSecretsStep(settings: RedisAgentSettings, options: SecretsOptions): SecretsStep {
  const { mode, paths } = settings;
  const memory: SecretsMemory = {
    ...options,
    state: openSecretsState(paths.stateDir),
    passwords: new KnownPasswords(),
    agent: new AgentLogin(paths.stateDir),
    // Somebody else's Redis has files of somebody else's.
    aclFile: mode === 'parent' ? paths.aclFile : undefined,
    users: new LiveUsers(),
    rotator: new Rotator(),
  };
  const learn = ({ cluster, secrets }: PrepareContext): void => {
    const password = cluster.authSecret === undefined ? undefined : readPassword(secrets, cluster.authSecret);
    if (password?.kind === 'text') memory.passwords.see(password.text);
  };
  return {
    learn,
    async prepare(context) {
      learn(context);
      if (memory.aclFile === undefined) return [];
      try {
        await prepareUsers(context, memory);
      } catch (error) {
        // On a full disk the file of the last start is as good as it was.
        if (!existsSync(memory.aclFile)) throw error;
        context.log.error('the users of the next start could not be written, it has those of the last', {
          error: String(error),
        });
      }
      return [['aclfile', memory.aclFile]];
    },
    apply(context) {
      learn(context);
      return applySecrets(context, memory);
    },
    credentials: () => [
      ...(memory.agent.credential ? [memory.agent.credential] : []),
      ...memory.passwords.credentials(),
    ],
  };
}
