import { makeAuthority, makeLeaf } from '../../admission/certificates/make-certificates.ts';
import type { KeyPair } from '../../admission/certificates/pem.ts';

/** Both PEM. */
export type SamplePair = KeyPair;

const LIFE_MS = 90 * 86_400_000;

const making = (nowMs: number) => ({ nowMs, notAfterMs: nowMs + LIFE_MS, name: 'Attune sandbox' });

/** An authority for a Redis to try things on. */
export const sampleAuthority = (nowMs: number): Promise<SamplePair> => makeAuthority(making(nowMs));

/** A certificate for these names. A replica shows it to its primary, so that it is one of a client too. */
export const sampleLeaf = (authority: SamplePair, hosts: readonly string[], nowMs: number): Promise<SamplePair> =>
  makeLeaf(authority, hosts, { ...making(nowMs), isForClients: true });
