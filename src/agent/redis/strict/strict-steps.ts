import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Snapshot } from '../../files/snapshot.ts';
import { writeAtomically } from '../../state/state-file.ts';
import type { Credential } from '../connection/redis.ts';
import type { Preparation } from '../start.ts';
import { KnownPasswords } from '../steps/secrets/passwords/known-passwords.ts';
import type { Directive, PrepareContext, StepContext } from '../steps/step.ts';

/** Counts from the next start on. */
const START_ONLY = new Set(['bind', 'port', 'tls-port', 'unixsocket', 'databases']);
const TLS_FILES = [
  ['tls-cert-file', 'tls.crt'],
  ['tls-key-file', 'tls.key'],
  ['tls-ca-cert-file', 'ca.crt'],
] as const;

/**
 * Configuration, secrets and certificates just as the operator does it that Attune replaces: everything is sent in every
 * pass, one after the other, and nothing is proven.
 */
export class StrictSteps {
  /** Of each file, as it was when Redis last read it. */
  #checksums: readonly string[] | undefined;
  readonly #passwords = new KnownPasswords();

  readonly secrets: Preparation = { prepare: (context) => this.#prepareSecrets(context) };
  readonly tls: Preparation = {
    prepare: async ({ cluster, tls }) =>
      cluster.tls ? TLS_FILES.map(([key, file]): Directive => [key, join(tls.root, file)]) : [],
  };

  /** For our own connection, before any step: Redis may have the password of the Secret from an earlier agent. */
  learn({ cluster: { authSecret }, secrets }: PrepareContext): void {
    if (authSecret !== undefined && isThere(secrets, `${authSecret}/password`))
      this.#passwords.see(textOf(secrets, `${authSecret}/password`));
  }

  credentials(): readonly Credential[] {
    return this.#passwords.credentials();
  }

  async applyConfig({ cluster, redis, event, settings }: StepContext): Promise<void> {
    for (const [key, value] of cluster.redis) {
      if (!START_ONLY.has(key.toLowerCase())) await redis.send('CONFIG', 'SET', key, value);
    }
    if (cluster.redis.size > 0) event('Normal', 'ConfigReloaded', `${settings.podName} has its configuration reloaded`);
  }

  async applySecrets(context: StepContext): Promise<void> {
    const { cluster, redis, secrets, settings } = context;
    const { authSecret, aclSecret, replicaMode } = cluster;
    if (authSecret !== undefined) {
      const password = textOf(secrets, `${authSecret}/password`);
      await redis.send('CONFIG', 'SET', 'requirepass', password);
      await redis.send('CONFIG', 'SET', 'masterauth', password);
    }
    if (aclSecret !== undefined) {
      await writeAtomically(settings.paths.aclFile, `${textOf(secrets, `${aclSecret}/acl`)}\n`);
      await redis.send('ACL', 'LOAD');
    }
    if (replicaMode?.authSecret !== undefined) {
      await redis.send('CONFIG', 'SET', 'masterauth', textOf(secrets, `${replicaMode.authSecret}/password`));
    } else if (!replicaMode) await redis.send('CONFIG', 'SET', 'masterauth', '');
  }

  async applyTls({ cluster, redis, tls, event, settings }: StepContext): Promise<void> {
    if (!cluster.tls) {
      this.#checksums = undefined;
      return;
    }
    const now = TLS_FILES.map(([, file]) => checksumOf(tls, file));
    const before = this.#checksums;
    this.#checksums ??= now;
    if (!before || now.every((each, at) => each === before[at])) return;
    for (const [key, file] of TLS_FILES) await redis.send('CONFIG', 'SET', key, join(tls.root, file));
    this.#checksums = now;
    event('Normal', 'CertificatesRotated', `${settings.podName} has its certificates reloaded`);
  }

  /** Redis does not start without the file that it is told to read. */
  async #prepareSecrets({ cluster: { aclSecret }, secrets, settings }: PrepareContext): Promise<readonly Directive[]> {
    if (aclSecret === undefined) return [];
    const path = `${aclSecret}/acl`;
    await writeAtomically(settings.paths.aclFile, isThere(secrets, path) ? `${textOf(secrets, path)}\n` : '');
    return [['aclfile', settings.paths.aclFile]];
  }
}

const isThere = (files: Snapshot, path: string): boolean => files.get(path).kind === 'bytes';

function textOf(files: Snapshot, path: string): string {
  const content = files.get(path);
  if (content.kind === 'bytes') return content.bytes.toString('utf8').trim();
  const why = content.kind === 'missing' ? 'does not exist: the Secret is not projected' : content.why;
  throw new Error(`${join(files.root, path)} ${why}`);
}

function checksumOf(files: Snapshot, path: string): string {
  const content = files.get(path);
  if (content.kind === 'bytes') return createHash('sha256').update(content.bytes).digest('hex');
  throw new Error(`${join(files.root, path)} ${content.kind === 'missing' ? 'does not exist' : content.why}`);
}
