import type { SourceRef } from '../../api/sources.ts';
import { compare, lifecycleOf, UNKNOWN } from '../../domain/ledger/ledger.ts';
import type { Workload, WorkloadKey } from '../../domain/workload/workload.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { looksAlike, refOf, type WorkloadState } from '../../model/workload-state.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { RetryHint } from '../../runtime/queue.ts';
import type { Engine } from '../engine/engine.ts';
import type { EngineDeps } from '../engine/engine-deps.ts';
import type { Act, Change, Outcome, UnderWay, Written } from './act.ts';
import { isRefusal, setbackOf } from './setback.ts';

export interface ReconcileDeps {
  readonly engine: Engine;
  readonly act: Act;
  readonly sources: EngineDeps['sources'];
  readonly lifecycle: EngineDeps['lifecycle'];
  readonly clock: Clock;
  /** Whether we may write. Another check follows at the server: each write carries the version it was decided on. */
  readonly mayWrite: () => boolean;
  readonly queue: { retry(key: WorkloadKey, hint?: RetryHint): number };
  /** Whether an earlier pass has begun something that still goes on. */
  readonly isUnderWay: (state: WorkloadState) => boolean;
  /** Lists kinds that cannot be watched; nothing to wait for with the others. */
  readonly fresh: (state: WorkloadState) => Promise<void>;
  /** Whether the pods have the data of a change already, by a rollout whose writer could not tell. */
  readonly isDelivered: (state: WorkloadState, change: Change) => Promise<boolean>;
  /** Brings the newest object in, when the watch lags behind what a conflict told us. */
  readonly catchUp: (state: WorkloadState) => Promise<void>;
  readonly report: {
    taken(state: WorkloadState): void;
    failed(state: WorkloadState, changes: readonly Change[], failure: Failure): void;
    reloaded(state: WorkloadState, changes: readonly Change[], startedAt: number, written: Written): void;
    unchanged(state: WorkloadState, changes: readonly Change[], why: 'same' | 'left', startedAt: number): void;
    settledByOther(state: WorkloadState, ref: SourceRef): void;
    problems(state: WorkloadState): void;
  };
}

/** Why a pass came to nothing, when it began, and when there will be another. */
export interface Failure {
  readonly error: KubeError;
  readonly startedAt: number;
  readonly retry: string;
}

const MAX_CONFLICTS = 10;
const SOON = 'soon';
const WITHIN_MINUTES = 'within minutes, or at once when its template or annotations change';

/** One workload: everything it waits for, in one write. Running it again is harmless. */
export async function reconcile(deps: ReconcileDeps, key: WorkloadKey): Promise<void> {
  const state = deps.engine.states.get(key);
  if (!state || !deps.mayWrite() || deps.isUnderWay(state)) return;
  deps.report.taken(state);
  await deps.fresh(state);
  const pass: Pass = { key, state, startedAt: deps.clock.now(), conflicts: 0 };
  while (deps.engine.states.get(key) === state && deps.mayWrite()) {
    const changes = collect(deps, state);
    if (changes.length === 0 || (await carryOut(deps, pass, changes))) return;
  }
}

interface Pass {
  readonly key: WorkloadKey;
  readonly state: WorkloadState;
  readonly startedAt: number;
  conflicts: number;
}

/** False: something is no longer as it was, so everything has to be decided again. */
async function carryOut(deps: ReconcileDeps, pass: Pass, changes: readonly Change[]): Promise<boolean> {
  const { state } = pass;
  const decidedOn = state.workload;
  try {
    if (await settleDelivered(deps, state, changes)) return false;
    const outcome = await deps.act(state, changes);
    if (isUnderWay(outcome)) void follow(deps, pass, changes, outcome);
    else finish(deps, pass, changes, outcome);
    return true;
  } catch (error) {
    if (!KubeError.is(error)) throw error;
    return await giveUp(deps, pass, { changes, error, decidedOn });
  }
}

const isUnderWay = (outcome: Outcome | UnderWay): outcome is UnderWay =>
  typeof outcome === 'object' && 'finished' in outcome;

function finish(deps: ReconcileDeps, pass: Pass, changes: readonly Change[], outcome: Outcome): void {
  const { key, state, startedAt } = pass;
  const isKnown = deps.engine.states.get(key) === state;
  settle(deps, state, changes);
  // Before what happened to the write is noticed: the last word is the one that counts.
  if (typeof outcome === 'object') deps.report.reloaded(state, changes, startedAt, outcome);
  else deps.report.unchanged(state, changes, outcome, startedAt);
  if (isKnown) deps.engine.wrote(state);
  if (isKnown && state.waiting.size > 0) deps.engine.open.schedule(key, state);
}

/** Nobody waits for what goes on by itself; nothing is settled before it is done. */
async function follow(
  deps: ReconcileDeps,
  pass: Pass,
  changes: readonly Change[],
  { finished, late }: UnderWay,
): Promise<void> {
  const { key, state, startedAt } = pass;
  void late.then((error) => deps.report.failed(state, changes, { error, startedAt, retry: SOON }));
  const outcome = await finished.catch((error: unknown) => {
    // Somebody else was first, or we are told to go.
    if (!KubeError.is(error) || error.status === 409) deps.queue.retry(key);
    else fail(deps, pass, changes, error);
  });
  if (outcome) finish(deps, pass, changes, outcome);
}

interface Refused {
  readonly changes: readonly Change[];
  readonly error: KubeError;
  readonly decidedOn: Workload;
}

/** False: somebody else wrote meanwhile. True: for now there is nothing more to do. */
async function giveUp(deps: ReconcileDeps, pass: Pass, { changes, error, decidedOn }: Refused): Promise<boolean> {
  const { key, state } = pass;
  if (error.status === 404) {
    // Usually it is gone, and the watch will say so. But a server that has just started may not know the kind yet.
    deps.queue.retry(key);
    return true;
  }
  pass.conflicts += 1;
  if (!isOutdated(error, state, decidedOn) || pass.conflicts > MAX_CONFLICTS) {
    fail(deps, pass, changes, error);
    return true;
  }
  // The watch usually has the newest object by now.
  if (state.workload.resourceVersion === decidedOn.resourceVersion) await deps.catchUp(state);
  return false;
}

/** True if there is less to do now, or something else: the data may move while the server is asked. */
async function settleDelivered(
  deps: ReconcileDeps,
  state: WorkloadState,
  changes: readonly Change[],
): Promise<boolean> {
  let isOther = false;
  for (const change of changes) {
    const { ref, id, current, since } = change;
    // Nothing to ask where the order is known.
    if (state.renewal.isReturn || since <= state.renewal.after || since > state.renewal.upTo) continue;
    const isDelivered = await deps.isDelivered(state, change);
    const hasMoved = deps.sources.current(ref) !== current;
    isOther ||= isDelivered || hasMoved;
    if (!isDelivered || hasMoved) continue;
    deps.engine.open.settle(state, id, current);
    deps.report.settledByOther(state, ref);
  }
  return isOther;
}

/**
 * A position in a JSON Patch that no longer holds what it held is called invalid, though the object only moved on. And
 * what is refused for what it was may be allowed for what it has become meanwhile.
 */
function isOutdated(error: KubeError, { workload }: WorkloadState, decidedOn: Workload): boolean {
  if (error.status === 422 && workload.resourceVersion !== decidedOn.resourceVersion) return true;
  return error.status === 409 || (isRefusal(error) && !looksAlike(workload, decidedOn));
}

/** What is still different now, in the order in which it changed. */
function collect(deps: ReconcileDeps, state: WorkloadState): Change[] {
  const changes: Change[] = [];
  for (const id of [...state.waiting.keys()]) {
    const ref = refOf(id, state.workload.ref.namespace);
    const current = deps.sources.current(ref);
    const difference = compare(state.applied.get(id) ?? current, current, lifecycleOf(ref.kind, deps.lifecycle));
    const verdict = deps.engine.verdicts.of(state, ref);
    // The answer to the reading makes it wait anew, if it has to.
    if (difference === 'unread' || difference === 'same' || difference === 'keep' || difference === 'settle') {
      state.waiting.delete(id);
    } else if (verdict.reload) {
      const mark = deps.sources.get(ref)?.fingerprint?.mark;
      const since = deps.sources.since(ref);
      changes.push({ id, ref, verdict, difference, current, since, mark: difference === 'deleted' ? undefined : mark });
    } else if (verdict.because === 'invalid-annotation') {
      state.held = true;
      deps.report.problems(state);
      return [];
    } else {
      state.waiting.delete(id);
    }
  }
  return changes;
}

function settle(deps: ReconcileDeps, state: WorkloadState, changes: readonly Change[]): void {
  for (const { id, current, ref, since } of changes) {
    state.applied.set(id, current);
    // A change that came while we wrote waits for the next pass. One there and back again may be in some of the pods.
    if (deps.sources.since(ref) === since) state.waiting.delete(id);
    else if (deps.sources.current(ref) === current) state.applied.set(id, UNKNOWN);
  }
  state.firstChangeAt = state.lastChangeAt;
}

function fail(
  deps: ReconcileDeps,
  { key, state, startedAt }: Pass,
  changes: readonly Change[],
  error: KubeError,
): void {
  const isRefused = isRefusal(error);
  deps.report.failed(state, changes, { error, startedAt, retry: isRefused ? WITHIN_MINUTES : SOON });
  deps.queue.retry(key, { ...setbackOf(error), isRefusal: isRefused });
}
