import { SOURCE_TYPE, type SourceRef } from '../../api/sources.ts';
import { inactionOf } from '../../domain/judge/effect.ts';
import type { Verdict } from '../../domain/judge/verdict.ts';
import { ABSENT, UNKNOWN } from '../../domain/ledger/applied.ts';
import { sourceId } from '../../domain/ledger/source-id.ts';
import type { Change } from '../../domain/outcome/change.ts';
import type {
  Failed,
  Invalid,
  NewJob,
  Outcome,
  Refused,
  Replaced,
  Reverted,
  Rolled,
  SettledByAnotherWriter,
  Skipped,
  Undelivered,
} from '../../domain/outcome/outcome.ts';
import type { WorkloadState } from '../../domain/state/workload-state.ts';
import type { Workload, WorkloadRef } from '../../domain/workload/workload.ts';
import type { SourceChange } from '../../model/sources/source-history.ts';
import type { Alert } from '../../telemetry/alerts.ts';
import type { LogFields } from '../../telemetry/log.ts';
import type { SystemReportDeps } from './ledger-report.ts';
import { listed, listedIds } from './source-list.ts';
import { SystemReport } from './system-report.ts';
import { eventAbout, type WorkloadEvent } from './workload-event.ts';

export interface ReportDeps extends SystemReportDeps {
  readonly post: (event: WorkloadEvent) => void;
  readonly alert: (alert: Alert) => void;
  readonly byNamespace: boolean;
  /** Upstream tells each source of a rollout by itself. */
  readonly compat: boolean;
  readonly onOutcome?: ((outcome: Outcome) => void) | undefined;
}

/** Who uses a source but did not ask is named in the log, so that nobody has to guess; a few are enough. */
const MAX_SILENT = 3;
const WITHIN_MINUTES = 'within minutes, or at once when its template or annotations change';

/** Everything operators see of what the engine does: a log line, a metric, an Event and an alert are renderings of it. */
export class Report extends SystemReport {
  readonly #deps: ReportDeps;
  /** What is to be told of a workload in a moment, by its uid. */
  readonly #broughtByOthers = new Map<string, SourceRef[]>();
  /** Problems that were reported, by the uid of the workload that has them: each is reported once. */
  readonly #reportedProblems = new Map<string, Set<string>>();

  constructor(deps: ReportDeps) {
    super(deps);
    this.#deps = deps;
  }

  tell(outcome: Outcome): void {
    this.#render(outcome);
    this.#deps.onOutcome?.(outcome);
  }

  /** The workload is gone. */
  forget({ uid }: Workload): void {
    this.#reportedProblems.delete(uid);
  }

  #render(outcome: Outcome): void {
    switch (outcome.is) {
      case 'rolled':
      case 'replaced':
        this.#rolled(outcome);
        break;
      case 'skipped':
        this.#skipped(outcome);
        break;
      case 'failed':
      case 'refused':
        this.#failed(outcome);
        break;
      case 'settled-by-another-writer':
        this.#settled(outcome);
        break;
      case 'reverted':
      case 'undelivered':
        this.#reverted(outcome);
        break;
      case 'paused':
        this.paused(outcome.workload, outcome.until);
        break;
      case 'resumed':
        this.resumed(outcome.workload, outcome.by);
        break;
      case 'not-resumed':
        this.notResumed(outcome.workload, outcome.error);
        break;
      case 'invalid':
        this.#invalid(outcome);
        break;
      default:
        outcome satisfies never;
    }
  }

  /** A source's data moved: who will roll, who will not, and why. */
  sourceChanged(ref: SourceRef, turn: SourceChange, verdicts: readonly (readonly [WorkloadState, Verdict])[]): void {
    const { log, metrics } = this.#deps;
    if (!this.#deps.mayTell()) return;
    for (const [{ workload }] of verdicts) {
      metrics.increment('reloader_workloads_scanned_total', { kind: workload.ref.kind });
    }
    if (verdicts.length === 0) return;
    // A CronJob's Jobs come and go with their data; that they do not roll surprises nobody.
    const silent = verdicts.flatMap(([state, verdict]) =>
      verdict.reload || state.workload.owner?.kind === 'CronJob' ? [] : [{ state, verdict }],
    );
    const what = `${ref.kind} ${ref.namespace}/${ref.name}`;
    const source = { namespace: ref.namespace, source: sourceId(ref) };
    const willReload = verdicts.filter(([, verdict]) => verdict.reload).length;
    log.debug(`${what} ${verbOf(turn)}`, { ...source, willReload, willNotReload: silent.length });
    for (const { state, verdict } of silent.slice(0, MAX_SILENT)) {
      log.info(`${nameOf(state.workload)} will not roll for ${ref.kind} ${ref.name}: ${verdict.rule}`, {
        ...about(state.workload, [ref]),
        reason: verdict.because,
        cure: verdict.cures.join('; '),
      });
    }
    const more = silent.length - MAX_SILENT;
    if (more > 0) log.info(`${more} more workloads use ${what} and will not roll for it`, source);
  }

  /** Its turn has come. */
  taken(dueAt: number): void {
    const { metrics, clock } = this.#deps;
    metrics.observe('reloader_workqueue_latency_seconds', {}, Math.max(0, clock.now() - dueAt) / 1000);
  }

  #rolled(outcome: Rolled | Replaced): void {
    const { metrics, clock } = this.#deps;
    const { workload, changes, startedAt, lastChangeAt } = outcome;
    const { ref } = workload;
    this.#count(workload, true);
    metrics.increment('reloader_workloads_matched_total', { kind: ref.kind });
    metrics.increment('attune_settled_total', { how: 'rolled' }, changes.length);
    this.#time('success', startedAt);
    metrics.observe(
      'reloader_action_latency_seconds',
      { workload_kind: ref.kind },
      Math.max(0, clock.now() - lastChangeAt) / 1000,
    );
    // Upstream's words have no room for a Job.
    if (this.#deps.compat) for (const change of changes) this.#tellReload(workload, [change], undefined);
    else this.#tellReload(workload, changes, outcome.job);
  }

  /** One Event, one line and one alert, however many sources: which they all are is told to who asks for details. */
  #tellReload(workload: Workload, changes: readonly Change[], job: NewJob | undefined): void {
    const { log, post } = this.#deps;
    const { ref, uid } = workload;
    const [first] = changes;
    if (!first) return;
    const isReplaced = job !== undefined && ref.kind === 'Job';
    const what = `'${ref.name}' of type '${ref.kind}' in namespace '${ref.namespace}'${job ? jobWords(ref, job) : ''}`;
    const refs = changes.map((change) => change.ref);
    const cause = causeOf(refs);
    // What is said about a Job that is gone is found by nobody.
    const subject = { ref, uid: isReplaced ? job.uid : uid };
    post(eventAbout(subject, 'Reloaded', `${cause}, Updated ${what}`, refs));
    this.#alert(ref, refs);
    const fields = { ...about(workload, refs), job: isReplaced ? undefined : job?.name };
    if (changes.length === 1) {
      log.info(`${cause}; updated ${what}`, { ...fields, reason: first.verdict.because, rule: first.verdict.rule });
      return;
    }
    log.info(`${cause}; updated ${what}`, { ...fields, sources: changes.length });
    for (const { ref: source, verdict } of changes) {
      const why = { ...about(workload, [source]), reason: verdict.because, rule: verdict.rule };
      log.debug(`${causeOf([source])}; updated ${what}`, why);
    }
  }

  #alert({ kind, name }: WorkloadRef, sources: readonly SourceRef[]): void {
    const [first] = sources;
    if (!first) return;
    const isOne = sources.length === 1;
    this.#deps.alert({
      source: isOne ? first.name : listed(sources),
      sourceType: isOne ? SOURCE_TYPE[first.kind] : undefined,
      namespace: first.namespace,
      workload: name,
      workloadKind: kind,
    });
  }

  #failed(outcome: Failed | Refused): void {
    const { log, metrics, post } = this.#deps;
    const { workload, changes, error, startedAt } = outcome;
    const { ref } = workload;
    this.#count(workload, false);
    metrics.increment('reloader_errors_total', { type: 'handler_error' });
    metrics.increment('reloader_retries_total');
    this.#time('error', startedAt);
    const what = `Update for '${ref.name}' of type '${ref.kind}' in namespace '${ref.namespace}' failed`;
    const sources = changes.map((change) => change.ref);
    log.error(`Rolling upgrade for '${sources[0]?.name ?? ''}' failed with error = ${error}`, {
      ...about(workload, sources),
      retry: outcome.is === 'failed' ? outcome.retry : WITHIN_MINUTES,
    });
    post(eventAbout(workload, 'ReloadFail', `${what} with error ${error}`, sources.slice(0, 1)));
  }

  /** Asked for, and nothing to write: upstream's rules see the mark in place, or the workload is to be left alone. */
  #skipped({ workload, changes, why, startedAt }: Skipped): void {
    const { log, metrics } = this.#deps;
    metrics.increment('reloader_skipped_total', { reason: 'strategy_not_updated' }, changes.length);
    this.#time('skipped', startedAt);
    const fields = about(
      workload,
      changes.map(({ ref }) => ref),
    );
    if (why === 'nothing-to-write') log.debug(`no changes detected for ${nameOf(workload)}`, fields);
    // That a CronJob's Jobs go on surprises nobody.
    if (why === 'nothing-to-write' || workload.owner?.kind === 'CronJob') return;
    const { rule, cure } = inactionOf(workload);
    log.info(`${nameOf(workload)} will not run for what changed: ${rule}`, { ...fields, cure });
  }

  #invalid({ workload, problems }: Invalid): void {
    for (const { path, message } of problems) this.#once(workload, `annotation ${path}: ${message}`);
  }

  /** `helm upgrade` changed source and template in one go: the new pods have the new data already. */
  #settled({ workload, sources }: SettledByAnotherWriter): void {
    const { log, metrics, mayTell } = this.#deps;
    if (!mayTell()) return;
    metrics.increment('attune_settled_total', { how: 'already-rolled' }, sources.length);
    const words = (some: readonly SourceRef[]) =>
      `${nameOf(workload)} already rolls for ${listed(some)}: its template changed after it`;
    for (const ref of sources) log.debug(words([ref]), about(workload, [ref]));
    const others = this.#broughtByOthers.get(workload.uid);
    if (others) {
      others.push(...sources);
      return;
    }
    const refs = [...sources];
    this.#broughtByOthers.set(workload.uid, refs);
    // All that one template brought is noticed in one go.
    queueMicrotask(() => {
      this.#broughtByOthers.delete(workload.uid);
      log.info(words(refs), about(workload, refs));
    });
  }

  #reverted({ is, workload, sources: refs }: Reverted | Undelivered): void {
    const { log, metrics, post, mayTell } = this.#deps;
    if (!mayTell()) return;
    metrics.increment('attune_reverted_total', {}, refs.length);
    const it = refs.length === 1 ? 'it' : 'them';
    const next =
      is === 'reverted'
        ? `applying ${it} once more`
        : `not applying ${it} again: undelivered until the template or the data changes`;
    const message = `Another writer removed the mark for ${listed(refs)}; ${next}`;
    log.warn(`${nameOf(workload)}: ${message}`, about(workload, refs));
    post(eventAbout(workload, 'ReloadReverted', message, refs));
  }

  #once(workload: Workload, message: string): void {
    const reported = this.#reportedProblems.get(workload.uid) ?? new Set();
    if (reported.has(message) || !this.#deps.mayTell()) return;
    this.#reportedProblems.set(workload.uid, reported.add(message));
    this.#deps.log.error(`${nameOf(workload)}: ${message}`, about(workload));
    this.#deps.post(eventAbout(workload, 'InvalidAnnotation', message));
  }

  #count({ ref }: Workload, success: boolean): void {
    const { metrics, byNamespace } = this.#deps;
    const word = String(success);
    metrics.increment('reloader_reload_executed_total', { success: word });
    if (byNamespace) {
      metrics.increment('reloader_reload_executed_total_by_namespace', { success: word, namespace: ref.namespace });
    }
    metrics.increment('reloader_action_total', { workload_kind: ref.kind, result: success ? 'success' : 'error' });
  }

  #time(result: 'success' | 'error' | 'skipped', startedAt: number): void {
    this.#deps.metrics.increment('reloader_reconcile_total', { result });
    const seconds = Math.max(0, this.#deps.clock.now() - startedAt) / 1000;
    this.#deps.metrics.observe('reloader_reconcile_duration_seconds', { result }, seconds);
  }
}

/** Upstream's words for one source; for several it has none. */
function causeOf(refs: readonly SourceRef[]): string {
  const [{ kind, name, namespace } = { kind: 'ConfigMap', name: '', namespace: '' } as SourceRef] = refs;
  const what = refs.length === 1 ? `'${name}' of type '${SOURCE_TYPE[kind]}'` : listed(refs);
  return `Changes detected in ${what} in namespace '${namespace}'`;
}

const jobWords = ({ kind }: WorkloadRef, { name }: NewJob): string =>
  kind === 'Job' ? ': deleted and created again' : `: created Job '${name}'`;

/** What nobody needed was never read, so that it changed can only be supposed. */
function verbOf({ before, after }: SourceChange): string {
  if (after === ABSENT) return 'deleted';
  if (before === ABSENT) return 'created';
  return before === UNKNOWN ? 'written' : 'changed';
}

const nameOf = ({ ref }: Workload): string => `${ref.kind} ${ref.namespace}/${ref.name}`;

/** The same fields in every line about a workload: whoever looks for it finds all of them. */
const about = ({ ref }: Workload, sources: readonly SourceRef[] = []): LogFields => ({
  ...ref,
  source: sources.length === 0 ? undefined : listedIds(sources),
});
