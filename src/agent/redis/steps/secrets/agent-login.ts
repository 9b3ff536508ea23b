import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AGENT_USER } from '../../../../domain/redis/acl/acl-text.ts';
import type { AclUser } from '../../../../domain/redis/acl/acl-user.ts';
import { mighty } from '../../../../domain/redis/acl/wanted-users.ts';
import { writeAtomically } from '../../../state/state-file.ts';
import type { Credential } from '../../connection/redis.ts';
import { sha256 } from './passwords/known-passwords.ts';

/**
 * The agent's own user: it comes in whatever happens to the passwords of others, be it that they change while it does not
 * run. A Redis of somebody else's forgets it with its end.
 */
export class AgentLogin {
  readonly #path: string;
  #password: string | undefined;

  constructor(stateDir: string) {
    this.#path = join(stateDir, 'agent-password');
    this.#password = read(this.#path);
  }

  get credential(): Credential | undefined {
    return this.#password === undefined ? undefined : { user: AGENT_USER, password: this.#password };
  }

  /** The user, with a password that is kept from now on. */
  async user(): Promise<AclUser> {
    if (this.#password === undefined) {
      const password = randomBytes(32).toString('base64url');
      await writeAtomically(this.#path, password);
      this.#password = password;
    }
    return mighty(AGENT_USER, [sha256(this.#password)]);
  }
}

/** Undefined also for a file that somebody has damaged. */
function read(path: string): string | undefined {
  try {
    return /^[\w-]{43}$/.exec(readFileSync(path, 'utf8'))?.[0];
  } catch {
    return undefined;
  }
}
