import { join } from 'node:path';
import type { Problem } from '../../../../domain/redis/cluster-view.ts';
import { untimely } from '../../../../domain/redis/trust/validity.ts';
import type { PrepareContext } from '../step.ts';
import { type FilesRead, type Material, USAGES } from './material/material.ts';
import { refusalOf, type TlsState } from './tls-state.ts';

/** What the mounted files are good for at this moment. */
export interface Offered {
  readonly content: string;
  /** Undefined: nothing of it may reach Redis. */
  readonly material: Material | undefined;
  /** Why not; with material: what is wrong with certificates that are served already. */
  readonly problems: readonly Problem[];
  /** When certificates become valid that are not yet. */
  readonly validFromMs?: number | undefined;
}

/** Of certificates that Redis serves already, what has become wrong is only told: nothing would be won by dropping them. */
export function offeredNow(read: FilesRead, state: TlsState, context: PrepareContext): Offered {
  const { content, material } = read;
  if (!material) return { content, material, problems: read.problems };
  const nowMs = context.clock.wall();
  const problems = [...timeProblems(material, context), ...usageProblems(material, context)];
  const isServed = material.leaf === state.active?.leaf;
  const refusal = refusalOf(state, content, nowMs);
  if (refusal) return { content, material: undefined, problems: [...(isServed ? problems : []), refusal.problem] };
  if (problems.length === 0 || isServed) return { content, material, problems };
  const ahead = material.times.map(({ fromMs }) => fromMs).filter((fromMs) => fromMs > nowMs);
  return { content, material: undefined, problems, validFromMs: ahead.length > 0 ? Math.max(...ahead) : undefined };
}

function timeProblems({ times }: Material, { tls, clock }: PrepareContext): readonly Problem[] {
  return times.flatMap((each, at) => {
    const what = untimely(each, clock.wall());
    return what ? [{ where: join(tls.root, at === times.length - 1 && at > 0 ? 'ca.crt' : 'tls.crt'), what }] : [];
  });
}

/** Redis verifies also the certificates of clients that show one, and a replica shows its own. */
function usageProblems({ isForClients }: Material, { tls, cluster, peers }: PrepareContext): readonly Problem[] {
  if (isForClients || (peers.size === 0 && !cluster.replicaMode)) return [];
  return [
    { where: join(tls.root, 'tls.crt'), what: `is not for clients, but replicas show it to their primary: ${USAGES}` },
  ];
}
