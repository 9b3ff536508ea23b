import type { AnnotationKeys } from '../../api/annotations.ts';
import type { Change } from '../../domain/outcome/change.ts';
import type { Outcome } from '../../domain/outcome/outcome.ts';
import { dueChanges } from '../../domain/plan/due-changes.ts';
import { dueTime, gate } from '../../domain/plan/gate.ts';
import type { Plan } from '../../domain/plan/plan.ts';
import { planWrite, type WriteFacts } from '../../domain/plan/write-plan.ts';
import type { WorkloadState } from '../../domain/state/workload-state.ts';
import { isAlike, type Workload, type WorkloadKey } from '../../domain/workload/workload.ts';
import { KubeError } from '../../kube/kube-error.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { RetryHint } from '../../runtime/queue.ts';
import type { Engine } from '../engine/engine.ts';
import type { EngineDeps } from '../engine/engine-deps.ts';
import type { Evictions } from '../restart/evictions.ts';
import type { Act, UnderWay, Written } from './act.ts';
import { isRefusal, setbackOf } from './setback.ts';

export interface ReconcileDeps
  extends Pick<EngineDeps, 'sources' | 'lifecycle' | 'timing' | 'serverNow'>,
    Pick<WriteFacts, 'policy' | 'shorten' | 'configHash'> {
  readonly engine: Engine;
  readonly act: Act;
  readonly clock: Clock;
  readonly keys: Pick<AnnotationKeys, 'pausedAt'>;
  /** Whether we may write. Another check follows at the server: each write carries the version it was decided on. */
  readonly mayWrite: () => boolean;
  readonly queue: {
    schedule(key: WorkloadKey, at: number): void;
    retry(key: WorkloadKey, hint?: RetryHint): number;
  };
  /** Whether an earlier pass has begun something that still goes on. */
  readonly isUnderWay: (state: WorkloadState) => boolean;
  /** A pass evicts no pods: nobody asks for it any more, or only not now. */
  readonly evictions: Pick<Evictions, 'rest' | 'drop'>;
  /** Lists kinds that cannot be watched; nothing to wait for with the others. */
  readonly fresh: (state: WorkloadState) => Promise<void>;
  /** Whether the pods have the data of a change already, by a rollout whose writer could not tell. */
  readonly isDelivered: (state: WorkloadState, change: Change) => Promise<boolean>;
  /** Brings the newest object in, when the watch lags behind what a conflict told us. */
  readonly catchUp: (state: WorkloadState) => Promise<void>;
  readonly report: {
    /** Its turn has come, that was to come at this time. */
    taken(dueAt: number): void;
    tell(outcome: Outcome): void;
  };
}

const MAX_CONFLICTS = 10;

/** One workload: everything it waits for, in one write. Running it again is harmless. */
export async function reconcile(deps: ReconcileDeps, key: WorkloadKey): Promise<void> {
  const state = deps.engine.states.get(key);
  if (!state || !deps.mayWrite() || deps.isUnderWay(state)) return;
  // What goes on for minutes says nothing about the queue.
  if (!state.reloads.restart) deps.report.taken(dueTime(state, deps.timing));
  await deps.fresh(state);
  const pass: Pass = { key, state, startedAt: deps.clock.now(), conflicts: 0 };
  while (deps.engine.states.get(key) === state && deps.mayWrite()) {
    if (await step(deps, pass)) return;
  }
}

interface Pass {
  readonly key: WorkloadKey;
  readonly state: WorkloadState;
  readonly startedAt: number;
  conflicts: number;
}

/** What is still different now, whether it may be written now, and how. */
function planFor(deps: ReconcileDeps, state: WorkloadState): Plan {
  const { sources, lifecycle, policy, shorten, configHash } = deps;
  const verdictOn = (ref: Change['ref']) => deps.engine.verdicts.of(state.workload, ref);
  const { changes, over, isBlocked } = dueChanges(state, { sources, lifecycle, verdictOn });
  for (const id of over) state.drop(id);
  if (isBlocked) return { do: 'block' };
  if (changes.length === 0) return { do: 'nothing' };
  const now = deps.serverNow();
  const answer = gate(state, changes, deps, { now: deps.clock.now(), serverNow: now });
  if (answer.do === 'wait') return answer;
  return planWrite(state, answer.changes, { policy, shorten, configHash, now, isPaused: answer.isPaused });
}

/** False: something is no longer as it was, so everything has to be decided again. */
async function step(deps: ReconcileDeps, pass: Pass): Promise<boolean> {
  const { state } = pass;
  const decidedOn = state.workload;
  let plan = planFor(deps, state);
  if (!('changes' in plan)) return rest(deps, pass, plan);
  const { changes } = plan;
  try {
    const uncertain = changes.filter((change) => isUncertain(state, change));
    if (uncertain.length > 0) {
      if (await settleDelivered(deps, state, uncertain)) return false;
      // The object may have changed while the server was asked, and a write is decided on what there is when it begins.
      plan = planFor(deps, state);
      if (!('changes' in plan)) return rest(deps, pass, plan);
    }
    await carryOut(deps, pass, plan);
    return true;
  } catch (error) {
    if (!KubeError.is(error)) throw error;
    return await giveUp(deps, pass, { changes, error, decidedOn });
  }
}

type DuePlan = Extract<Plan, { readonly changes: unknown }>;

/** Nothing is written now. */
function rest(deps: ReconcileDeps, { key, state }: Pass, plan: Exclude<Plan, DuePlan>): true {
  const { report, queue, evictions } = deps;
  if (plan.do === 'nothing') evictions.drop(state);
  else evictions.rest(state);
  if (plan.do === 'wait') queue.schedule(key, plan.until);
  if (plan.do !== 'block') return true;
  state.block();
  report.tell({ is: 'invalid', workload: state.workload, problems: state.workload.intent.problems });
  return true;
}

async function carryOut(deps: ReconcileDeps, pass: Pass, plan: DuePlan): Promise<void> {
  const result = plan.do === 'skip' ? plan.why : await deps.act(pass.state, plan);
  if (result === 'not-yet') return;
  if (isUnderWay(result)) void follow(deps, pass, plan.changes, result);
  else finish(deps, pass, plan.changes, result);
}

type Result = Written | 'nothing-to-write' | 'left-alone';

const isUnderWay = (result: Result | UnderWay): result is UnderWay =>
  typeof result === 'object' && 'finished' in result;

function finish(deps: ReconcileDeps, pass: Pass, changes: readonly Change[], result: Result): void {
  const { engine, report, evictions } = deps;
  const { state } = pass;
  evictions.rest(state);
  const { seq, isRecorded } = typeof result === 'object' ? result : { seq: state.seq, isRecorded: false };
  engine.settled(state, changes, seq, isRecorded);
  // Before what happened to the write is noticed: the last word is the one that counts.
  report.tell(outcomeOf(pass, changes, result));
  engine.passDone(state);
}

function outcomeOf({ state, startedAt }: Pass, changes: readonly Change[], result: Result): Outcome {
  const { workload, lastChangeAt } = state;
  const about = { workload, changes, startedAt };
  if (typeof result !== 'object') return { is: 'skipped', ...about, why: result };
  const { job, evicted } = result;
  if (workload.ref.kind !== 'Job') return { is: 'rolled', ...about, job, evicted, lastChangeAt };
  return job ? { is: 'replaced', ...about, job, lastChangeAt } : { is: 'skipped', ...about, why: 'deleted' };
}

/** Nobody waits for what goes on by itself; nothing is settled before it is done. */
async function follow(
  deps: ReconcileDeps,
  pass: Pass,
  changes: readonly Change[],
  { finished, late }: UnderWay,
): Promise<void> {
  const { key, state, startedAt } = pass;
  void late.then(({ message: error }) =>
    deps.report.tell({ is: 'failed', workload: state.workload, changes, error, startedAt, retry: 'soon' }),
  );
  const written = await finished.catch((error: unknown) => {
    // Somebody else was first, or we are told to go.
    if (!KubeError.is(error) || error.status === 409) deps.queue.retry(key);
    else fail(deps, pass, changes, error);
  });
  if (written) finish(deps, pass, changes, written);
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

/** Whether template and source were written in an order that only the server's history may tell. */
function isUncertain({ templateTime: { isReturn, after, upTo } }: WorkloadState, { since }: Change): boolean {
  return !isReturn && since > after && since <= upTo;
}

/** True if there is less to do now, or something else: the data may change while the server is asked. */
async function settleDelivered(
  deps: ReconcileDeps,
  state: WorkloadState,
  changes: readonly Change[],
): Promise<boolean> {
  let isOther = false;
  for (const change of changes) {
    if (!isUncertain(state, change)) continue;
    const isDelivered = await deps.isDelivered(state, change);
    // There and back again while the server was asked: the answer was about the data of before.
    const hasMoved = !isAsDecided(deps, change);
    isOther ||= isDelivered || hasMoved;
    if (isDelivered && !hasMoved) deps.engine.delivered(state, change);
  }
  return isOther;
}

function isAsDecided({ sources }: ReconcileDeps, { ref, current, since }: Change): boolean {
  return sources.current(ref) === current && sources.since(ref) === since;
}

/**
 * A position in a JSON Patch that no longer holds what it held is called invalid, though the object only moved on. And
 * what is refused for what it was may be allowed for what it has become meanwhile.
 */
function isOutdated(error: KubeError, { workload }: WorkloadState, decidedOn: Workload): boolean {
  if (error.status === 422 && workload.resourceVersion !== decidedOn.resourceVersion) return true;
  return error.status === 409 || (isRefusal(error) && !isAlike(workload, decidedOn));
}

function fail(
  deps: ReconcileDeps,
  { key, state, startedAt }: Pass,
  changes: readonly Change[],
  error: KubeError,
): void {
  const isRefused = isRefusal(error);
  const about = { workload: state.workload, changes, error: error.message, startedAt };
  deps.report.tell(
    isRefused
      ? { is: 'refused', ...about, heldUntil: 'changed or some minutes' }
      : { is: 'failed', ...about, retry: 'soon' },
  );
  deps.queue.retry(key, { ...setbackOf(error), isRefusal: isRefused });
}
