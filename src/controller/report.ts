import { kindNamed } from '../api/kinds.ts';
import { SOURCE_TYPE, type SourceKind, type SourceRef } from '../api/sources.ts';
import { inactionOf } from '../domain/effect.ts';
import { ABSENT, UNKNOWN } from '../domain/ledger.ts';
import type { Verdict } from '../domain/verdict.ts';
import type { KubeError } from '../kube/kube-error.ts';
import type { Alert } from '../telemetry/alerts.ts';
import type { Change } from './act.ts';
import type { SystemReportDeps } from './ledger-report.ts';
import type { Turn } from './source-book.ts';
import { SystemReport } from './system-report.ts';
import type { WorkloadState } from './workload-state.ts';

/** A Kubernetes Event about a workload. */
export interface WorkloadEvent {
  readonly regarding: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
  };
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  readonly component: string;
}

/** A plan carried out. Log line, metric, Event and alert are renderings of it, and so is a line of the tour. */
export interface Outcome {
  readonly state: WorkloadState;
  readonly changes: readonly Change[];
}

export interface ReportDeps extends SystemReportDeps {
  readonly post: (event: WorkloadEvent) => void;
  readonly alert: (alert: Alert) => void;
  readonly byNamespace: boolean;
  /** Upstream tells each source of a rollout by itself. */
  readonly compat: boolean;
  readonly onOutcome?: ((outcome: Outcome) => void) | undefined;
}

const COMPONENT: Readonly<Record<SourceKind, string>> = {
  ConfigMap: 'reloader-configmaps',
  Secret: 'reloader-secrets',
  SecretProviderClass: 'reloader-secretproviderclasspodstatuses',
};
/** An Event's message has room for about 1,000 characters, and nobody reads more names than a few. */
const MAX_LISTED = 10;
const MAX_LIST = 500;
/** Who uses a source but did not ask is named in the log, so that nobody has to guess; a few are enough. */
const MAX_SILENT = 3;

/** Everything operators see of what the engine does: a log line, a metric, an Event and an alert are renderings of it. */
export class Report extends SystemReport {
  readonly #deps: ReportDeps;

  constructor(deps: ReportDeps) {
    super(deps);
    this.#deps = deps;
  }

  /** A source's data moved: who will roll, who will not, and why. */
  sourceChanged(ref: SourceRef, turn: Turn, verdicts: readonly (readonly [WorkloadState, Verdict])[]): void {
    const { log, metrics } = this.#deps;
    if (!this.#deps.mayTell()) return;
    for (const [{ workload }] of verdicts) {
      metrics.increment('reloader_workloads_scanned_total', { kind: workload.ref.kind });
    }
    if (verdicts.length === 0) return;
    // A CronJob's Jobs come and go with their data; that they do not roll surprises nobody.
    const silent = verdicts.filter(([{ workload }, verdict]) => !verdict.reload && workload.owner?.kind !== 'CronJob');
    const rolling = verdicts.filter(([, verdict]) => verdict.reload);
    log.info(`${ref.kind} ${ref.namespace}/${ref.name} ${verbOf(turn)}`, {
      concerns: rolling.length,
      usedButSilent: silent.length,
    });
    for (const [state, verdict] of silent.slice(0, MAX_SILENT)) {
      if (verdict.reload) continue;
      log.info(`${nameOf(state)} will not roll for ${ref.kind} ${ref.name}: ${verdict.rule}`, {
        reason: verdict.because,
        cure: verdict.cures.join('; '),
      });
    }
  }

  /** Its turn has come. */
  taken({ dueAt }: WorkloadState): void {
    const { metrics, clock } = this.#deps;
    metrics.observe('reloader_workqueue_latency_seconds', {}, Math.max(0, clock.now() - dueAt) / 1000);
  }

  reloaded(state: WorkloadState, changes: readonly Change[], startedAt: number): void {
    const { metrics, clock, alert, onOutcome } = this.#deps;
    const { ref } = state.workload;
    this.#count(state, true);
    metrics.increment('reloader_workloads_matched_total', { kind: ref.kind });
    metrics.increment('attune_settled_total', { how: 'rolled' }, changes.length);
    this.#time('success', startedAt);
    metrics.observe(
      'reloader_action_latency_seconds',
      { workload_kind: ref.kind },
      Math.max(0, clock.now() - state.lastChangeAt) / 1000,
    );
    if (this.#deps.compat) for (const change of changes) this.#tellReload(state, [change]);
    else this.#tellReload(state, changes);
    for (const { ref: source } of changes) {
      alert({
        source: source.name,
        sourceType: SOURCE_TYPE[source.kind],
        namespace: source.namespace,
        workload: ref.name,
        workloadKind: ref.kind,
      });
    }
    onOutcome?.({ state, changes });
  }

  /** One Event and one line, however many sources: which they all are is told to who asks for details. */
  #tellReload(state: WorkloadState, changes: readonly Change[]): void {
    const { log, post } = this.#deps;
    const { ref } = state.workload;
    const [first] = changes;
    if (!first) return;
    const what = `'${ref.name}' of type '${ref.kind}' in namespace '${ref.namespace}'`;
    const causeOf = (some: readonly Change[]) =>
      `Changes detected in ${listed(some)} in namespace '${first.ref.namespace}'`;
    const cause = causeOf(changes);
    post(this.#event(state, 'Normal', 'Reloaded', `${cause}, Updated ${what}`, COMPONENT[first.ref.kind]));
    if (changes.length === 1) {
      log.info(`${cause}; updated ${what}`, { reason: first.verdict.because, rule: first.verdict.rule });
      return;
    }
    log.info(`${cause}; updated ${what}`, { sources: changes.length });
    for (const change of changes) {
      const { because: reason, rule } = change.verdict;
      log.debug(`${causeOf([change])}; updated ${what}`, { reason, rule });
    }
  }

  failed(state: WorkloadState, changes: readonly Change[], error: KubeError, next: string): void {
    const { log, metrics, clock, post } = this.#deps;
    const { ref } = state.workload;
    this.#count(state, false);
    metrics.increment('reloader_errors_total', { type: 'handler_error' });
    metrics.increment('reloader_retries_total');
    this.#time('error', clock.now());
    const what = `Update for '${ref.name}' of type '${ref.kind}' in namespace '${ref.namespace}' failed`;
    const source = changes[0]?.ref;
    log.error(`Rolling upgrade for '${source?.name ?? ''}' failed with error = ${error.message}`, {
      workload: `${ref.kind} ${ref.namespace}/${ref.name}`,
      again: next,
    });
    const component = COMPONENT[source?.kind ?? 'ConfigMap'];
    post(this.#event(state, 'Warning', 'ReloadFail', `${what} with error ${error.message}`, component));
  }

  /** Asked for, and nothing to write: upstream's rules see the mark in place, or the workload is to be left alone. */
  unchanged(state: WorkloadState, changes: readonly Change[], why: 'same' | 'left'): void {
    const { log, metrics, clock } = this.#deps;
    metrics.increment('reloader_skipped_total', { reason: 'strategy_not_updated' }, changes.length);
    this.#time('skipped', clock.now());
    const sources = changes.map(({ id }) => id).join(',');
    if (why === 'same') log.debug(`no changes detected for ${nameOf(state)}`, { sources });
    // That a CronJob's Jobs go on surprises nobody.
    if (why === 'same' || state.workload.owner?.kind === 'CronJob') return;
    const { rule, cure } = inactionOf(state.workload);
    log.info(`${nameOf(state)} will not run for what changed: ${rule}`, { sources, cure });
  }

  problems(state: WorkloadState): void {
    for (const { path, message } of state.workload.intent.problems) {
      this.#once(state, `annotation ${path}: ${message}`, 'InvalidAnnotation');
    }
  }

  /** `helm upgrade` changed source and template in one go: the new pods have the new data already. */
  settledByOther(state: WorkloadState, ref: SourceRef): void {
    if (!this.#deps.mayTell()) return;
    this.#deps.metrics.increment('attune_settled_total', { how: 'already-rolled' });
    this.#deps.log.info(`${nameOf(state)} already rolls for ${ref.kind} ${ref.name}: its template changed after it`);
  }

  reverted(state: WorkloadState, ref: SourceRef, again: boolean): void {
    const { log, metrics, post } = this.#deps;
    if (!this.#deps.mayTell()) return;
    metrics.increment('attune_reverted_total');
    const next = again
      ? 'applying it once more'
      : 'not applying it again: the change is undelivered until the template or the data changes';
    const message = `Another writer removed the mark for ${ref.kind} ${ref.name}; ${next}`;
    log.warn(`${nameOf(state)}: ${message}`);
    post(this.#event(state, 'Warning', 'ReloadReverted', message, COMPONENT[ref.kind]));
  }

  #once(state: WorkloadState, message: string, reason: string): void {
    if (state.told.has(message) || !this.#deps.mayTell()) return;
    state.told.set(message, true);
    this.#deps.log.error(`${nameOf(state)}: ${message}`);
    this.#deps.post(this.#event(state, 'Warning', reason, message, 'reloader'));
  }

  #count({ workload: { ref } }: WorkloadState, success: boolean): void {
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

  #event(
    { workload: { ref, uid } }: WorkloadState,
    type: 'Normal' | 'Warning',
    ...[reason, message, component]: readonly [string, string, string]
  ): WorkloadEvent {
    const kind = kindNamed(ref.kind);
    const apiVersion = kind?.group ? `${kind.group}/${kind.version}` : 'v1';
    return { regarding: { apiVersion, ...ref, uid }, type, reason, message, component };
  }
}

/** The sources of a rollout, in the words of upstream: as many as fit, and how many there are beyond. */
function listed(changes: readonly Change[]): string {
  const words = changes.map(({ ref: { name, kind } }) => `'${name}' of type '${SOURCE_TYPE[kind]}'`);
  let fits = 1;
  for (let length = words[0]?.length ?? 0; fits < Math.min(words.length, MAX_LISTED); fits += 1) {
    length += words[fits]?.length ?? 0;
    if (length > MAX_LIST) break;
  }
  const more = words.length - fits;
  return more > 0 ? `${words.slice(0, fits).join(', ')} and ${more} more` : words.join(', ');
}

/** What nobody needed was never read, so that it changed can only be supposed. */
function verbOf({ before, after }: Turn): string {
  if (after === ABSENT) return 'deleted';
  if (before === ABSENT) return 'created';
  return before === UNKNOWN ? 'written' : 'changed';
}

const nameOf = ({ workload: { ref } }: WorkloadState): string => `${ref.kind} ${ref.namespace}/${ref.name}`;
