import type { WorkloadKind } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/objects.ts';
import type { SourceRef } from '../../api/sources.ts';
import type { Settings } from '../../config/settings.ts';
import { ABSENT, compare, lifecycleOf, UNKNOWN } from '../../domain/ledger/applied.ts';
import { believe } from '../../domain/ledger/believe.ts';
import { sourceId } from '../../domain/ledger/source-id.ts';
import { cooldownEnd } from '../../domain/plan/cooldown.ts';
import { dueAt, timingOf } from '../../domain/plan/timing.ts';
import { type Ages, agesOf } from '../../domain/workload/pod-age.ts';
import { type Hold, holdOf, type Progress, progressOf } from '../../domain/workload/progress.ts';
import type { Workload } from '../../domain/workload/workload.ts';
import type { Snapshot } from '../../model/snapshot.ts';
import type { Marking } from './answer.ts';
import type { Mark } from './explanation.ts';
import type { LedgerView } from './ledger-view.ts';
import type { Pods } from './pods.ts';

/**
 * What the pods run with, against what the source holds.
 *
 * `current`: with the data as it is. `marked`: the template is of that data, and not all pods are of the template. `older`:
 * pods began before its last write, and no rollout waits for it. `pending`: a change waits to be rolled out. `gone`: the
 * source was deleted, and counts as changed only if it returns with other data. `absent`: it does not exist. `undelivered`:
 * another writer keeps undoing the rollout. `silent`: the data is other than the pods', and no rule asks to roll for it.
 * `unknown`: it cannot be told, and `why`.
 */
export interface State {
  readonly is: 'current' | 'marked' | 'older' | 'pending' | 'gone' | 'absent' | 'undelivered' | 'silent' | 'unknown';
  /** Who says so. */
  readonly from: 'mark' | 'record' | 'checkpoint' | 'pods' | 'nothing';
  /** Pods against the last write; missing where they are not known. */
  readonly pods?: Ages | undefined;
  /** As the workload's own controller counts. */
  readonly progress?: Progress | undefined;
  /** Why pods of an earlier template are still there. */
  readonly hold?: Hold | undefined;
  readonly why?: string | undefined;
  /** `unknown`: nobody could tell what the pods began with, and that counts as changed. */
  readonly change?: 'changed' | 'created' | 'deleted' | 'unknown' | undefined;
  /** When the data was written, and until when it will have been rolled out; RFC 3339. */
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  readonly overdue?: boolean | undefined;
  /** Its pods are being evicted one by one, because of this. */
  readonly restarting?: true | undefined;
}

export interface Viewpoint {
  readonly snapshot: Snapshot;
  readonly ledger: LedgerView;
  readonly settings: Settings;
  readonly nowMs: number;
}

/** A workload with what only its object and its pods tell. */
export interface Subject {
  readonly kind: WorkloadKind;
  readonly object: KubeObject;
  readonly workload: Workload;
  readonly pods: Pods;
  /** Who makes the pods: itself, or a Rollout that has borrowed its template. */
  readonly rolledBy: { readonly kind: WorkloadKind; readonly object: KubeObject };
}

/** What is known of the change of a source before anybody asks what the pods run with. */
export interface Asked extends Pick<Marking, 'strategy' | 'ask'> {
  readonly rolls: boolean;
  /** What the template's mark is of. */
  readonly found: Mark['found'] | undefined;
}

export function standingOf(subject: Subject, ref: SourceRef, asked: Asked, at: Viewpoint): State {
  const { snapshot } = at;
  if (snapshot.facts(ref).presence === 'unreadable') return unknown('you may not read it');
  const current = snapshot.sources.current(ref);
  if (current === UNKNOWN) return unknown('nobody mounts it, and what it would hold is not known before');
  const facts = factsOf(subject, ref, asked, at);
  if (facts.difference === 'keep') return { is: 'gone', from: facts.from };
  if (current === ABSENT && facts.difference === 'same') return { is: 'absent', from: facts.from };
  const change = changeIn(facts);
  if (change === undefined) return settled(subject, facts);
  if (asked.rolls)
    return { is: 'pending', from: facts.from, change, pods: facts.ages, ...whenOf(subject, ref, facts, at) };
  return isNewer(facts.ages) ? settled(subject, facts) : { is: 'silent', from: facts.from, pods: facts.ages };
}

type Facts = ReturnType<typeof factsOf>;

function factsOf({ kind, workload, pods }: Subject, ref: SourceRef, asked: Asked, at: Viewpoint) {
  const { snapshot, ledger, settings } = at;
  const { strategy, found, ask } = asked;
  const current = snapshot.sources.current(ref);
  const { changedAt } = snapshot.facts(ref);
  const word = ledger.word(workload, ref, snapshot.sources, strategy);
  const markIsCurrent = found === 'current';
  const compat = strategy === 'config-hash' ? settings.sapCompat : settings.compat;
  const belief = believe({ markIsCurrent, compat, current, baseline: current, ...word });
  const isOtherMark = isOther(asked, at);
  const from: State['from'] = isOtherMark ? 'mark' : belief.from === 'baseline' ? 'nothing' : belief.from;
  const isOlder = changedAt !== undefined && (word.writtenAt ?? 0) * 1000 > changedAt;
  const rolloutStrategy = ask?.overrides.rolloutStrategy ?? workload.intent.rolloutStrategy;
  const byTemplate = kind.effect !== 'run' && rolloutStrategy !== 'restart';
  return {
    difference: isOtherMark
      ? 'changed'
      : compare(belief.applied, current, lifecycleOf(ref.kind, settings, ask?.overrides)),
    from,
    /** The ledger says that nobody could tell what the pods began with. */
    isUnknown: belief.applied === UNKNOWN,
    /** It says that they run with the data, and may be out of date. */
    isDoubted: word.isDoubted,
    /** The template was written after the data, or carries its mark. */
    isInTemplate: byTemplate && (markIsCurrent || isOlder),
    writtenAt: changedAt,
    /** Until when a change waits because of the last one. */
    cooledAt: cooldownEnd({ at: ledger.reloads(workload).reloadedAt }, ask?.overrides.cooldownMs, at.nowMs) ?? 0,
    ages: 'unknown' in pods || changedAt === undefined ? undefined : agesOf(pods.began, changedAt),
  };
}

/**
 * Without the ledger a mark of other data is all there is, and it may be the only one that was ever needed. As SAP, the hash
 * decides in any case.
 */
function isOther({ strategy, found }: Asked, { ledger, settings }: Viewpoint): boolean {
  if (strategy === 'config-hash') return settings.sapCompat && (found === 'other' || found === 'missing');
  return !ledger.known && found === 'other';
}

function changeIn({ difference, isUnknown }: Facts): State['change'] {
  if (difference !== 'changed' && difference !== 'created' && difference !== 'deleted') return undefined;
  return isUnknown ? 'unknown' : difference;
}

const unknown = (why: string): State => ({ is: 'unknown', from: 'nothing', why });

/** Nothing waits to be rolled out; that alone does not prove that the pods run with the data. */
function settled(subject: Subject, facts: Facts): State {
  const { from, ages, writtenAt } = facts;
  const said = { from, pods: ages, ...sinceOf(writtenAt) };
  if (hasNoPods(subject.pods)) return { ...said, is: 'current', pods: { total: 0, older: 0, unclear: 0 } };
  if (isNewer(ages)) return { ...said, is: 'current', from: from === 'nothing' ? 'pods' : from };
  if (facts.isInTemplate) return rolledOut(subject, facts);
  if (ages === undefined) return { ...said, is: 'unknown', why: whyNoAges(subject.pods) };
  if (ages.older === 0) return { ...said, is: 'unknown', why: sameSecond(ages) };
  return { ...said, is: 'older', why: facts.isDoubted ? DOUBT : undefined };
}

const DOUBT = 'source and template were written since Attune wrote down what the pods run with';

const sameSecond = ({ total, unclear }: Ages): string =>
  `${unclear} of ${total} pods began in the very second of its last write`;

const hasNoPods = (pods: Pods): boolean => !('unknown' in pods) && pods.began.length === 0;

const isNewer = (ages: Ages | undefined): boolean => ages !== undefined && ages.older === 0 && ages.unclear === 0;

const whyNoAges = (pods: Pods): string => ('unknown' in pods ? pods.unknown : 'when its data was written is not known');

/** The template is of the data: what counts is whether the pods were made of that template. */
function rolledOut({ rolledBy: { kind, object } }: Subject, { from, ages, writtenAt }: Facts): State {
  const progress = progressOf(kind, object);
  const said = { from, pods: ages, progress, ...sinceOf(writtenAt) };
  // The template of a Job is what all its pods were made of.
  const isDone = progress ? progress.updated >= progress.pods : kind.counts === undefined;
  return isDone ? { ...said, is: 'current' } : { ...said, is: 'marked', hold: holdOf(object) };
}

const sinceOf = (writtenAt: number | undefined) =>
  writtenAt === undefined ? {} : { since: new Date(writtenAt).toISOString() };

/** A restart that has begun is not waited for. */
function whenOf(subject: Subject, ref: SourceRef, facts: Facts, at: Viewpoint): Partial<State> {
  const { restart } = at.ledger.reloads(subject.workload);
  const id = sourceId(ref, subject.workload.ref.namespace);
  if (restart?.changes[id] === undefined) return dueTime(subject, facts, at);
  return { ...sinceOf(facts.writtenAt), restarting: true };
}

function dueTime({ workload }: Subject, { writtenAt, cooledAt }: Facts, { settings, nowMs }: Viewpoint) {
  if (writtenAt === undefined) return {};
  const until = Math.max(cooledAt, dueAt(writtenAt, writtenAt, timingOf(workload.intent, settings)));
  // The server keeps seconds, and a write takes its time.
  return { ...sinceOf(writtenAt), until: new Date(until).toISOString(), overdue: nowMs > until + GRACE_MS };
}

const GRACE_MS = 5000;
