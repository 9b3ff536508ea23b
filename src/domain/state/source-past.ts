import type { SourceRef } from '../../api/sources.ts';
import type { ListedSources } from '../config-hash/config-hash.ts';
import type { Applied } from '../ledger/applied.ts';
import type { Source } from '../source/source.ts';
import type { Workload } from '../workload/workload.ts';

/** What a workload's state asks about sources. A version is a resource version of the server. */
export interface SourcePast {
  get(ref: SourceRef): Source | undefined;
  current(ref: SourceRef): Applied;
  /** Since which version, as far as we know, the data has been what it is. */
  since(ref: SourceRef): number;
  /** At which version its data was seen to change; 0: it is as it was found. */
  movedAt(ref: SourceRef): number;
  /** Whether its data was seen to change up to a version. */
  isMovedBy(ref: SourceRef, version: number): boolean;
  /** The data that it had throughout a span of versions; unknown if it may have changed within. */
  during(ref: SourceRef, after: number, upTo: number): Applied;
  /** Its last change left Stakater's hash as it was: an equal mark proves nothing. */
  isAmbiguous(ref: SourceRef): boolean;
}

/** What is the same for the states of all workloads. */
export interface StateRules {
  readonly compat: boolean;
  readonly sapCompat: boolean;
  /** Whether the server counts the versions of all kinds in one row: only then do they tell what came first. */
  readonly sharedVersions: () => boolean;
  readonly sources: SourcePast;
  /** Whether another workload has borrowed its template, and has pods of it: of these its own status says nothing. */
  readonly lendsTemplate: (workload: Workload) => boolean;
  /** The config hash of what is listed; undefined if not all of it is known. */
  readonly configHash: (listed: ListedSources, namespace: string) => string | undefined;
}

/** Whether versions can tell what came first. Upstream does not ask. */
export const isOrdered = ({ compat, sharedVersions }: Pick<StateRules, 'compat' | 'sharedVersions'>): boolean =>
  !compat && sharedVersions();
