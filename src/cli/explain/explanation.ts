import { CONFIG_HASH, LAST_RELOADED_FROM } from '../../api/annotations.ts';
import type { SourceRef } from '../../api/sources.ts';
import type { ListedSources } from '../../domain/config-hash/config-hash.ts';
import { carriesMark, variableName } from '../../domain/template/marks.ts';
import type { NotWatched } from '../../domain/watch-scope.ts';
import type { Workload } from '../../domain/workload/workload.ts';
import type { SourceFacts } from '../../model/snapshot.ts';
import { type Answer, answerTo, type Marking } from './answer.ts';
import { type State, type Subject, standingOf, type Viewpoint } from './standing.ts';

/** One source and one workload: would a change roll it, why, and how things stand. */
export interface Explanation extends Answer {
  readonly source: SourceRef;
  readonly presence: SourceFacts['presence'];
  readonly mark: Mark | undefined;
  readonly state: State;
}

/** Where the mark of a change goes, and what stands there now. */
export interface Mark {
  /** Undefined: it stands for the pod template as a whole. */
  readonly container: string | undefined;
  readonly place: string;
  /** Of the data as it is now. */
  readonly value: string | undefined;
  readonly found: 'current' | 'other' | 'missing' | 'shared' | 'unknown';
}

export function explain(subject: Subject, ref: SourceRef, unseen: readonly NotWatched[], at: Viewpoint): Explanation {
  const { workload } = subject;
  const { marking, ...answer } = answerTo(workload, ref, unseen, at);
  const mark = markOf(workload, ref, marking, at);
  return {
    source: ref,
    presence: at.snapshot.facts(ref).presence,
    ...answer,
    mark: answer.action === 'run' || answer.action === 'evict' ? undefined : mark,
    state: standingOf(subject, ref, { rolls: answer.rolls, ...marking, found: mark?.found }, at),
  };
}

const FOUND = { equal: 'current', different: 'other', missing: 'missing', 'shared-name': 'shared' } as const;

function markOf(workload: Workload, ref: SourceRef, marking: Marking, at: Viewpoint): Mark | undefined {
  const { container, strategy, ask } = marking;
  const named = workload.containers[container]?.name;
  if (named === undefined) return undefined;
  if (strategy === 'config-hash') return ask?.listed && hashOf(workload, ask.listed, at);
  const value = at.snapshot.sources.get(ref)?.fingerprint?.mark;
  const place = strategy === 'annotations' ? LAST_RELOADED_FROM : variableName(ref.kind, ref.name);
  // Any text does for asking whether there is one at all.
  const found = FOUND[carriesMark(workload, ref, value ?? '', strategy)];
  return { container: named, place, value, found: value === undefined && found === 'other' ? 'unknown' : found };
}

/** One mark for all that is listed. What SAP's own program has left there is as good, if nothing was written since. */
function hashOf(
  { ref: { namespace }, templateAnnotations }: Workload,
  listed: ListedSources,
  { snapshot, ledger, settings: { sapCompat } }: Viewpoint,
): Mark {
  const versions = snapshot.configHash(listed, namespace, true);
  const content = ledger.known ? snapshot.configHash(listed, namespace, false) : undefined;
  const value = sapCompat ? versions : content;
  const { [CONFIG_HASH]: carried } = templateAnnotations;
  const at = { container: undefined, place: CONFIG_HASH, value };
  if (carried === undefined) return { ...at, found: 'missing' };
  if (carried === value || carried === versions) return { ...at, found: 'current' };
  // One that another key or an earlier version made cannot be compared.
  const isComparable = value !== undefined && (sapCompat || (ledger.key.contentHash?.madeHash(carried) ?? true));
  return { ...at, found: isComparable ? 'other' : 'unknown' };
}
