import type { SourceKind, SourceRef } from '../../api/sources.ts';
import { type Ask, ignores, refuses } from '../asks/ask.ts';
import type { NamePattern } from '../asks/name-pattern.ts';
import { isInForce } from '../asks/reload-all-flag.ts';
import { indexOnce } from '../index-once.ts';
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
  const all = namespaces.map((namespace) => {
    if (wants.what === 'selected') return { literal: [], patterns: [{ kind, namespace, pattern: undefined }] };
    // The list of a ReloaderConfig is that of each of its targets.
    return wants.namespaces ? sharedOf(wants.patterns, kind, namespace) : inNamespace(wants.patterns, kind, namespace);
  });
  return {
    literal: all.flatMap(({ literal }) => literal).filter((ref) => !limits || !ignores(limits, ref)),
    patterns: all.flatMap(({ patterns }) => patterns),
  };
}

function inNamespace(all: readonly NamePattern[], kind: SourceKind, namespace: string): Interests {
  const refs = all.flatMap(({ literal }) => (literal === undefined ? [] : { kind, namespace, name: literal }));
  const others = all.filter(({ literal }) => literal === undefined);
  return { literal: refs, patterns: others.map((pattern) => ({ kind, namespace, pattern })) };
}

const sharedIn = indexOnce((_: readonly NamePattern[]) => new Map<string, Interests>());

/** The same objects for whoever asks with the same list: there can be thousands of names, and hundreds of targets. */
function sharedOf(list: readonly NamePattern[], kind: SourceKind, namespace: string): Interests {
  const made = sharedIn(list);
  const key = `${kind} ${namespace}`;
  const known = made.get(key) ?? inNamespace(list, kind, namespace);
  made.set(key, known);
  return known;
}

const refsOf = ({ references, ref: { namespace } }: Workload, isMeant: (reference: Reference) => boolean) =>
  references.filter(isMeant).map(({ kind, name }) => ({ kind, namespace, name }));
