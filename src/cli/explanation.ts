import { LAST_RELOADED_FROM } from '../api/annotations.ts';
import { kindNamed } from '../api/kinds.ts';
import type { SourceKind, SourceRef } from '../api/sources.ts';
import type { Settings } from '../config/settings.ts';
import { type Action, actionFor, inactionOf } from '../domain/effect.ts';
import { believe, compare, lifecycleOf, UNKNOWN } from '../domain/ledger.ts';
import { carriesMark, variableName } from '../domain/marks.ts';
import { dueAt, timingOf } from '../domain/plan.ts';
import type { Verdict } from '../domain/verdict.ts';
import type { Workload } from '../domain/workload.ts';
import type { ClusterView, SourceFacts } from './cluster-view.ts';
import type { LedgerView } from './ledger-view.ts';
import type { Blindness } from './sight.ts';

/** One source and one workload: would a change roll it, why, and how things stand. */
export interface Explanation {
  readonly source: { readonly kind: SourceKind; readonly name: string };
  readonly presence: SourceFacts['presence'];
  readonly rolls: boolean;
  /** A word of docs/reasons.md, or `not-watched`, or `nothing-to-do`. */
  readonly because: string;
  readonly rule: string;
  /** The one line that would make it a yes. */
  readonly cure: string | undefined;
  /** What a change does. */
  readonly action: Action | undefined;
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

/**
 * `current`: the pods run with the data as it is. `pending`: a change waits to be rolled out. `gone`: the source was
 * deleted, and counts as changed only if it returns with other data. `undelivered`: another writer keeps undoing the
 * rollout. `silent`: the data is other than the pods', and no rule asks to roll for it. `unknown`: this user may not
 * see enough to tell.
 */
export interface State {
  readonly is: 'current' | 'pending' | 'gone' | 'undelivered' | 'silent' | 'unknown';
  /** Who says so. */
  readonly from: 'mark' | 'record' | 'checkpoint' | 'nothing';
  readonly change?: 'changed' | 'created' | 'deleted' | undefined;
  /** When the data was written, and until when it will have been rolled out; RFC 3339. */
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  readonly overdue?: boolean | undefined;
}

export interface Viewpoint {
  readonly view: ClusterView;
  readonly ledger: LedgerView;
  readonly settings: Settings;
  readonly nowMs: number;
}

/** The controller's own rules, asked about one source. */
export function explain(
  workload: Workload,
  ref: SourceRef,
  blindness: Blindness | undefined,
  at: Viewpoint,
): Explanation {
  const { container, ...answer } = blindness ? blind(blindness) : judged(workload, ref, at);
  const facts = at.view.facts(ref);
  return {
    source: { kind: ref.kind, name: ref.name },
    presence: facts.presence,
    ...answer,
    mark: answer.action === 'run' ? undefined : markOf(workload, ref, container, at),
    state: stateOf(workload, ref, answer.rolls, at),
  };
}

type Answer = Pick<Explanation, 'rolls' | 'because' | 'rule' | 'cure' | 'action'> & { readonly container: number };

const blind = ({ rule, cure }: Blindness): Answer => ({
  rolls: false,
  because: 'not-watched',
  rule,
  cure,
  action: undefined,
  container: 0,
});

function judged(workload: Workload, ref: SourceRef, { view, settings }: Viewpoint): Answer {
  const state = view.states.get(`${workload.ref.kind}/${workload.ref.namespace}/${workload.ref.name}`);
  const verdict = state && view.verdicts.of(state, ref);
  const kind = kindNamed(workload.ref.kind);
  if (!verdict || !kind) throw new Error(`${workload.ref.kind} ${workload.ref.name} was not entered`);
  if (!verdict.reload) return { ...refusal(verdict), container: useOf(workload, ref) };
  const { because, rule, container } = verdict;
  const action = actionFor(kind, workload, [verdict], settings);
  if (action === 'none') return { rolls: false, because: 'nothing-to-do', ...inactionOf(workload), action, container };
  return { rolls: true, because, rule, cure: undefined, action, container };
}

const refusal = ({ because, rule, cure }: Extract<Verdict, { reload: false }>) => ({
  rolls: false,
  because,
  rule,
  cure,
  action: undefined,
});

function useOf(workload: Workload, ref: SourceRef): number {
  return workload.references.find(({ kind, name }) => kind === ref.kind && name === ref.name)?.container ?? 0;
}

function markOf(
  workload: Workload,
  ref: SourceRef,
  container: number,
  { view, settings }: Viewpoint,
): Mark | undefined {
  const named = workload.containers[container]?.name;
  if (named === undefined) return undefined;
  const { reloadStrategy: strategy } = settings;
  const value = view.sources.get(ref)?.fingerprint?.mark;
  const place = strategy === 'annotations' ? LAST_RELOADED_FROM : variableName(ref.kind, ref.name);
  return { container: named, place, value, found: foundMark(workload, ref, value, strategy) };
}

const FOUND = { equal: 'current', different: 'other', missing: 'missing', 'shared-name': 'shared' } as const;

function foundMark(
  workload: Workload,
  ref: SourceRef,
  value: string | undefined,
  strategy: Settings['reloadStrategy'],
): Mark['found'] {
  // Any text does for asking whether there is one at all.
  const found = FOUND[carriesMark(workload, ref, value ?? '', strategy)];
  return value === undefined && found === 'other' ? 'unknown' : found;
}

function stateOf(workload: Workload, ref: SourceRef, rolls: boolean, at: Viewpoint): State {
  const { view, ledger, settings } = at;
  const facts = view.facts(ref);
  const current = view.sources.current(ref);
  if (facts.presence === 'unreadable' || current === UNKNOWN) return { is: 'unknown', from: 'nothing' };
  const mark = view.sources.get(ref)?.fingerprint?.mark;
  const carried = mark === undefined ? 'missing' : carriesMark(workload, ref, mark, settings.reloadStrategy);
  const evidence = ledger.evidence(workload, `${ref.kind}/${ref.name}`);
  const belief = believe({
    markIsCurrent: carried === 'equal',
    compat: settings.compat,
    current,
    baseline: current,
    ...evidence,
  });
  const from = belief.from === 'baseline' ? 'nothing' : belief.from;
  // Without the ledger a mark of other data is all there is, and it may be the only one that was ever needed.
  const unsure = !ledger.known && carried === 'different';
  const difference = unsure ? 'changed' : compare(belief.applied, current, lifecycleOf(ref.kind, settings));
  if (difference === 'keep') return { is: 'gone', from };
  if (difference !== 'changed' && difference !== 'created' && difference !== 'deleted') return { is: 'current', from };
  if (!rolls) return { is: 'silent', from };
  return { is: 'pending', from: unsure ? 'mark' : from, change: difference, ...dueTime(workload, facts, at) };
}

function dueTime(workload: Workload, { changedAt }: SourceFacts, { settings, nowMs }: Viewpoint) {
  if (changedAt === undefined) return {};
  const until = dueAt(changedAt, changedAt, timingOf(workload.intent, settings));
  // The server keeps seconds, and a write takes its time.
  const overdue = nowMs > until + GRACE_MS;
  return { since: new Date(changedAt).toISOString(), until: new Date(until).toISOString(), overdue };
}

const GRACE_MS = 5000;
