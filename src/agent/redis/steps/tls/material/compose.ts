import type { Turn } from '../../../../../domain/redis/trust/rotation.ts';
import type { Snapshot } from '../../../../files/snapshot.ts';
import { bundleOf, certificatesIn, fingerprintOf } from './certificates.ts';
import { keyIn, type Material } from './material.ts';
import type { VersionParts } from './versions.ts';

/** Where the parts of a version come from. */
export interface Supply {
  readonly material: Material | undefined;
  /** The mounted files, for the key. */
  readonly files: Snapshot;
  /** The copy of what Redis has now. */
  readonly standing: VersionParts | undefined;
}

/** What is to be written for a turn; undefined if a part of it is nowhere any more. */
export function composeVersion(turn: Turn, { material, files, standing }: Supply): VersionParts | undefined {
  const pair = turn.leaf === 'offered' ? offeredPair(material, files) : standing;
  const known = [...(material?.roots ?? []), ...certificatesIn(standing?.ca ?? '').certificates];
  const byFingerprint = new Map(known.map((each) => [fingerprintOf(each), each]));
  const trusted = turn.trusted.flatMap((fingerprint) => byFingerprint.get(fingerprint) ?? []);
  if (!pair || trusted.length !== turn.trusted.length) return undefined;
  return { cert: pair.cert, key: pair.key, ca: bundleOf(trusted) };
}

function offeredPair(material: Material | undefined, files: Snapshot): Pick<VersionParts, 'cert' | 'key'> | undefined {
  const key = keyIn(files);
  if (!material || !key) return undefined;
  return { cert: bundleOf(material.certificates), key: key.export({ type: 'pkcs8', format: 'pem' }).toString() };
}
