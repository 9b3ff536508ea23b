import { formatTime } from '../../text/rfc3339.ts';
import type { Wait } from './rotation.ts';

/** What is waited for, as people are told of it. */
export function waitWords(wait: Wait): string {
  if (wait.kind === 'trust') {
    return `the new certificate is served as soon as every pod trusts its authority; waits for ${wait.pods.join(', ')}`;
  }
  if (wait.kind === 'leaves') {
    return `the earlier authority is dropped after every pod serves a certificate of the new one; waits for ${wait.pods.join(', ')}`;
  }
  return `the earlier authority is trusted until ${formatTime(wait.untilMs / 1000)}`;
}

/** Enough of a fingerprint to tell certificates apart by eye. */
export const shortFingerprint = (fingerprint: string): string => fingerprint.slice(0, 12);
