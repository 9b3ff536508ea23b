import type { Problem, TrustPhase } from '../../../../domain/redis/cluster-view.ts';
import type { Standing } from '../../../../domain/redis/trust/rotation.ts';
import type { StateFile } from '../../../state/state-file.ts';
import type { RedisAgentSettings } from '../../settings.ts';
import type { PrepareContext } from '../step.ts';
import { countsForMs } from '../try-again.ts';
import type { Shown, TlsTarget } from './handshake.ts';
import { pathsIn, type TlsPaths, type Versions } from './material/versions.ts';

/** What Redis has been told, was seen to serve, and will be started with. */
export interface Active extends Standing {
  readonly leaf: string;
  /** Its copy. */
  readonly digest: string;
  readonly phase: TrustPhase;
  readonly sinceMs: number;
  /** Which of the two Redis has read. */
  readonly place: 'copy' | 'mounted';
}

/** What has to be known after the agent was killed. */
export interface TlsState {
  readonly active?: Active | undefined;
  /** The leaf that this run of the server has shown. */
  readonly seen?: (Shown & { readonly runId: string }) | undefined;
  readonly refused?: RefusedContent | undefined;
  /** Of which problems people were warned. */
  readonly warned?: string | undefined;
  /** A sidecar's Redis cannot read our copies, only the mounted files. */
  readonly direct?: boolean | undefined;
  /** Where a sidecar's Redis has the mounted files. */
  readonly mounted?: TlsPaths | undefined;
  /** The copy that the next start, or one under way, reads. */
  readonly prepared?: string | undefined;
  /** The one that the last good start file names: it may be needed again. */
  readonly cameUp?: string | undefined;
}

/** A content that was valid, but did not work. */
export interface RefusedContent {
  readonly content: string;
  readonly problem: Problem;
  /** When Redis did not take it. Missing: a handshake failed with it; it is not tried again, because clients would see it. */
  readonly atMs?: number | undefined;
}

/** The refusal of this content, if it still counts, and for how long. */
export function refusalOf(
  { refused }: TlsState,
  content: string,
  nowMs: number,
): { readonly problem: Problem; readonly forMs: number } | undefined {
  if (refused?.content !== content) return undefined;
  const forMs = countsForMs(refused.atMs, nowMs);
  return forMs === undefined ? undefined : { problem: refused.problem, forMs };
}

/** What all parts of the step work with. */
export interface TlsWorld<Context extends PrepareContext = PrepareContext> {
  readonly settings: RedisAgentSettings;
  readonly context: Context;
  readonly state: StateFile<TlsState>;
  readonly versions: Versions;
  readonly target: () => TlsTarget;
}

/** Where Redis has the mounted files. */
export const mountedPaths = ({ settings, state }: Pick<TlsWorld, 'settings' | 'state'>): TlsPaths =>
  state.value.mounted ?? pathsIn(settings.paths.tlsDir);

/** Copies that nobody can need any more are removed. */
export async function removeUnused({ state, versions }: Pick<TlsWorld, 'state' | 'versions'>): Promise<void> {
  const { active, prepared, cameUp } = state.value;
  await versions.keepOnly(new Set([active?.digest, prepared, cameUp]));
}
