import { createHash, createHmac } from 'node:crypto';
import type { Credential } from '../../../connection/redis.ts';

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Stands for a password where everybody can read it: without the key nobody can find out by trying. */
export const passwordId = (key: Buffer, password: string): string =>
  createHmac('sha256', key).update(password).digest('hex').slice(0, 16);

/** A Redis that somebody else restarts may come back with an earlier password; no more of them are kept. */
const MOST = 8;

/** The passwords of the default user that this process has seen, in clear; nothing else keeps them so. */
export class KnownPasswords {
  /** By SHA-256, the newest last. */
  readonly #texts = new Map<string, string>();

  see(text: string): void {
    const digest = sha256(text);
    this.#texts.delete(digest);
    this.#texts.set(digest, text);
    for (const oldest of [...this.#texts.keys()].slice(0, -MOST)) this.#texts.delete(oldest);
  }

  textOf(digest: string | undefined): string | undefined {
    return digest === undefined ? undefined : this.#texts.get(digest);
  }

  /** The newest first, and at last none at all. */
  credentials(): readonly Credential[] {
    const passwords = [...this.#texts.values()].reverse();
    return [...passwords, undefined].map((password) => ({ user: 'default', password }));
  }
}
