import { LAST_RELOADED_FROM } from '../../api/annotations.ts';
import type { SourceKind, SourceRef } from '../../api/sources.ts';
import { carriesMark, variableName } from '../../domain/template/marks.ts';
import type { Workload } from '../../domain/workload/workload.ts';
import type { SourceFacts } from '../../model/snapshot.ts';
import { type Answer, answerTo } from './answer.ts';
import { type State, type Subject, standingOf, type Viewpoint } from './standing.ts';
import type { NotWatched } from './watch-scope.ts';

/** One source and one workload: would a change roll it, why, and how things stand. */
export interface Explanation extends Answer {
  readonly source: { readonly kind: SourceKind; readonly name: string };
  readonly presence: SourceFacts['presence'];
  readonly mark: Mark | undefined;
  readonly state: State;
}

/** Where the mark of a change goes, and what stands there now. */
export interface Mark {
  readonly container: string;
  readonly place: string;
  /** Of the data as it is now. */
  readonly value: string | undefined;
  readonly found: 'current' | 'other' | 'missing' | 'shared' | 'unknown';
}

export function explain(subject: Subject, ref: SourceRef, unseen: readonly NotWatched[], at: Viewpoint): Explanation {
  const { workload } = subject;
  const { container, ...answer } = answerTo(workload, ref, unseen, at);
  return {
    source: { kind: ref.kind, name: ref.name },
    presence: at.snapshot.facts(ref).presence,
    ...answer,
    mark: answer.action === 'run' ? undefined : markOf(workload, ref, container, at),
    state: standingOf(subject, ref, answer.rolls, at),
  };
}

const FOUND = { equal: 'current', different: 'other', missing: 'missing', 'shared-name': 'shared' } as const;

function markOf(
  workload: Workload,
  ref: SourceRef,
  container: number,
  { snapshot, settings: { reloadStrategy } }: Viewpoint,
): Mark | undefined {
  const named = workload.containers[container]?.name;
  if (named === undefined) return undefined;
  const value = snapshot.sources.get(ref)?.fingerprint?.mark;
  const place = reloadStrategy === 'annotations' ? LAST_RELOADED_FROM : variableName(ref.kind, ref.name);
  // Any text does for asking whether there is one at all.
  const found = FOUND[carriesMark(workload, ref, value ?? '', reloadStrategy)];
  return { container: named, place, value, found: value === undefined && found === 'other' ? 'unknown' : found };
}
