import type { SourceRef } from '../../api/sources.ts';
import type { Verdict } from '../../domain/judge/verdict.ts';
import { ABSENT, UNKNOWN } from '../../domain/ledger/applied.ts';
import { sourceId } from '../../domain/ledger/source-id.ts';
import type { Outcome } from '../../domain/outcome/outcome.ts';
import { referenceTo } from '../../domain/workload/references.ts';
import type { Workload } from '../../domain/workload/workload.ts';
import type { EventPost } from '../../kube/events/event-post.ts';
import type { SourceChange } from '../../model/sources/source-history.ts';
import type { Alert } from '../../telemetry/alerts.ts';
import { LedgerReport } from './ledger-report.ts';
import { OutcomeFeed, rendererOf, sourceBySource } from './outcome-feed.ts';
import { alertRendering } from './render/alert-rendering.ts';
import { eventRendering } from './render/event-rendering.ts';
import { fieldsOf, logRendering } from './render/log-rendering.ts';
import { metricRendering, secondsSince } from './render/metric-rendering.ts';
import { nameOf } from './render/outcome-words.ts';
import { SystemReport, type SystemReportDeps } from './system-report.ts';
import { WatchReport } from './watch-report.ts';

export interface ReportDeps extends SystemReportDeps {
  readonly post: (event: EventPost) => void;
  readonly alert: (alert: Alert) => void;
  /** Upstream tells of each source of a rollout by itself. */
  readonly compat: boolean;
  readonly onOutcome?: ((outcome: Outcome) => void) | undefined;
}

/** The log names workloads that use a source but did not ask to be rolled; a few are enough. */
const MAX_NAMED = 3;

/** Everything that operators are told. */
export class Report {
  readonly ledger: LedgerReport;
  readonly watches: WatchReport;
  readonly system: SystemReport;
  readonly #deps: ReportDeps;
  readonly #feed: OutcomeFeed;

  constructor(deps: ReportDeps) {
    const { log, metrics, clock, post, alert, compat, mayTell, onOutcome } = deps;
    this.#deps = deps;
    this.ledger = new LedgerReport(deps);
    this.watches = new WatchReport(deps);
    this.system = new SystemReport(deps);
    const inWords = [logRendering(log), eventRendering(post), alertRendering(alert)];
    const renderings = [metricRendering(metrics, clock), ...(compat ? inWords.map(sourceBySource) : inWords)];
    this.#feed = new OutcomeFeed(mayTell, [...renderings.map(rendererOf), ...(onOutcome ? [onOutcome] : [])]);
  }

  tell(outcome: Outcome): void {
    this.#feed.tell(outcome);
  }

  /** Tells somebody more. */
  onOutcome(listener: (outcome: Outcome) => void): void {
    this.#feed.add(listener);
  }

  /** The workload is gone: what was told about it need not be remembered. */
  forget(workload: Workload): void {
    this.#feed.forget(workload);
  }

  /** A source was listed, watched or read; often its data is the same as before. */
  sourceSeen({ before, after }: SourceChange): void {
    if (before !== after || after === UNKNOWN) return;
    this.#deps.metrics.increment('reloader_skipped_total', { reason: 'no_data_change' });
  }

  /** The data of a source changed: who will roll, who will not, and why. */
  sourceChanged(ref: SourceRef, change: SourceChange, verdicts: readonly (readonly [Workload, Verdict])[]): void {
    const { log, metrics, mayTell } = this.#deps;
    if (!mayTell() || verdicts.length === 0) return;
    for (const [workload] of verdicts) {
      metrics.increment('reloader_workloads_scanned_total', { kind: workload.ref.kind });
    }
    // A CronJob's Jobs come and go with their data; that they do not roll surprises nobody.
    const unmoved = verdicts.flatMap(([workload, verdict]) =>
      verdict.reload || workload.owner?.kind === 'CronJob' || !isConcerned(workload, ref, verdict)
        ? []
        : [{ workload, verdict }],
    );
    const what = `${ref.kind} ${ref.namespace}/${ref.name}`;
    const source = { namespace: ref.namespace, source: sourceId(ref) };
    const willReload = verdicts.filter(([, verdict]) => verdict.reload).length;
    log.debug(`${what} ${verbOf(change)}`, { ...source, willReload, willNotReload: unmoved.length });
    for (const { workload, verdict } of unmoved.slice(0, MAX_NAMED)) {
      log.info(`${nameOf(workload)} will not roll for ${ref.kind} ${ref.name}: ${verdict.rule}`, {
        ...fieldsOf(workload, [ref]),
        reason: verdict.because,
        cure: verdict.cures.join('; '),
      });
    }
    const more = unmoved.length - MAX_NAMED;
    if (more > 0) log.info(`${more} more workloads use ${what} and will not roll for it`, source);
  }

  queued(): void {
    this.#deps.metrics.increment('reloader_workqueue_adds_total');
  }

  /** A worker took it from the queue. */
  taken(dueAt: number): void {
    const { metrics, clock } = this.#deps;
    metrics.observe('reloader_workqueue_latency_seconds', {}, secondsSince(clock, dueAt));
  }
}

/** A source that nobody needed was not read before, so nobody knows whether its data changed. */
function verbOf({ before, after }: SourceChange): string {
  if (after === ABSENT) return 'deleted';
  if (before === ABSENT) return 'created';
  return before === UNKNOWN ? 'written' : 'changed';
}

/** Whoever selects sources by labels is asked about each of them, and has nothing to do with most. */
const isConcerned = ({ references, ref: { namespace } }: Workload, ref: SourceRef, { because }: Verdict): boolean =>
  because !== 'not-asked' || (ref.namespace === namespace && referenceTo(references, ref) !== undefined);
