import type { SourceKind, SourceRef } from '../../api/sources.ts';
import { type Ask, ignores, refuses } from '../asks/ask.ts';
import type { NamePattern } from '../asks/name-pattern.ts';
import { isInForce } from '../asks/reload-all-flag.ts';
import type { Reference, Workload } from '../workload/workload.ts';
import type { Policy } from './verdict.ts';

/** Sources whose change could roll a workload: by name, some more than once, and by patterns that have to be tried. */
export interface Interests {
  readonly literal: readonly SourceRef[];
  /** Undefined: whatever the name, for labels decide. */
  readonly patterns: readonly {
    readonly kind: SourceKind;
    readonly namespace: string;
    readonly pattern: NamePattern | undefined;
  }[];
}

/** What a reverse index needs: `judge` says no to every source that is not among these. */
export function interests(workload: Workload, policy: Policy): Interests {
  const { intent, containers, ref } = workload;
  // One too many does no harm: as SAP, not everything that is refused is.
  const refusals = policy.sapCompat ? [] : intent.refusals;
  const isRefused = (kind: SourceKind, name?: string): boolean =>
    refusals.some((refusal) => refuses(refusal, kind, name));
  const isDeaf = policy.ignoredKinds.has(ref.kind) || containers.length === 0;
  const asks = isDeaf ? [] : intent.asks.filter((ask) => isInForce(ask, policy) && !isRefused(ask.wants.kind));
  const all = asks.map((ask) => interestsOf(ask, workload));
  return {
    literal: all.flatMap(({ literal }) => literal).filter(({ kind, name }) => !isRefused(kind, name)),
    patterns: all.flatMap(({ patterns }) => patterns),
  };
}

function interestsOf({ wants, limits }: Ask, workload: Workload): Interests {
  const { kind } = wants;
  const own = workload.ref.namespace;
  const isUsed = (each: Reference): boolean => each.kind === kind && each.container !== undefined;
  if (wants.what !== 'named' && wants.what !== 'selected') return { literal: refsOf(workload, isUsed), patterns: [] };
  const namespaces = wants.namespaces ?? [own];
  // What must be used is known by its name, and is in the workload's own namespace.
  if (limits?.mustBeUsed) {
    const isMeant = namespaces.includes(own);
    return { literal: isMeant ? refsOf(workload, (each) => each.kind === kind) : [], patterns: [] };
  }
  const patterns = wants.what === 'named' ? wants.patterns : [undefined];
  return {
    literal: namespaces
      .flatMap((namespace) =>
        patterns.flatMap((each) => (each?.literal === undefined ? [] : { kind, namespace, name: each.literal })),
      )
      .filter((ref) => !limits || !ignores(limits, ref)),
    patterns: namespaces.flatMap((namespace) =>
      patterns
        .filter((each) => each === undefined || each.literal === undefined)
        .map((pattern) => ({ kind, namespace, pattern })),
    ),
  };
}

const refsOf = ({ references, ref: { namespace } }: Workload, isMeant: (reference: Reference) => boolean) =>
  references.filter(isMeant).map(({ kind, name }) => ({ kind, namespace, name }));
