import type { KubeObject } from '../../api/objects.ts';

/** As much of a Lease as an election reads and writes. */
export interface Lease extends KubeObject {
  readonly spec?: {
    readonly holderIdentity?: string | null;
    readonly leaseDurationSeconds?: number | null;
    readonly leaseTransitions?: number | null;
    readonly acquireTime?: string | null;
    readonly renewTime?: string | null;
  };
}

/** MicroTime: six digits, of which a clock of milliseconds knows three. */
export function microTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z');
}
