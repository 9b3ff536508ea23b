import type { ControllerOptions } from '../domain/controller-options.ts';
import { refOfKey, type WorkloadKey } from '../domain/workload/workload.ts';
import type { KubeClient } from '../kube/client.ts';
import { KubeError } from '../kube/kube-error.ts';
import { retryTransient } from '../kube/retry-transient.ts';
import type { Clock } from '../runtime/clock.ts';
import { runWorkers } from '../runtime/worker.ts';
import type { Log } from '../telemetry/log.ts';
import type { ControllerMetrics } from '../telemetry/metric-tables/controller.ts';
import { unreadIn } from './engine/census.ts';
import { seeSharedVersions } from './engine/shared-versions.ts';
import { ConfigDefinition } from './follow/config-definition.ts';
import { Readiness } from './follow/readiness.ts';
import { follow } from './follow/subscriptions.ts';
import type { Leadership } from './leadership.ts';
import { rewriteRecords } from './ledger/old-records.ts';
import { type KeyReport, ownKey } from './ledger/own-key.ts';
import { createLiveModel, type LiveModel } from './live-model.ts';
import type { Report } from './report/report.ts';
import { ConfigStatuses } from './status/config-statuses.ts';
import { reconcile } from './write/reconcile.ts';
import { setbackOf } from './write/setback.ts';
import { createWriters, type Writers } from './write/writers.ts';

export interface ControllerDeps {
  readonly options: ControllerOptions;
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: ControllerMetrics;
  readonly report: Report;
  readonly leadership: Leadership;
  /** `--webhook-url`: told of each change instead of anything being rolled. */
  readonly notify: (() => void) | undefined;
  /** Work can be done from here on, and when `onUnready` was called, again. */
  readonly onReady: () => void;
  readonly onUnready: () => void;
}

// Writes in flight are finished; what waits belongs to the successor.
const DRAIN_MS = 4000;

/** Runs until aborted: watch, remember, and bring what changed to whoever asked for it. */
export async function runController(deps: ControllerDeps, signal: AbortSignal): Promise<void> {
  const { client, options, clock, report } = deps;
  const { compat, enableHa: elects } = options;
  const workloads = deps.notify === undefined;
  const readiness = new Readiness({ ...deps, report: report.watches, compat, elects, workloads, signal });
  deps.leadership.onLeaseRefused((error) => readiness.leaseRefused(error));
  const retrying = (error: KubeError): void =>
    error.status === 401 ? readiness.refused(error) : report.watches.waitingForServer(error);
  const patience = { clock, signal, retrying };
  const tell: KeyReport = {
    keyless(error) {
      if (workloads) report.ledger.keyless(error);
    },
    weakKey: (bytes, error) => report.ledger.weakKey(bytes, error),
  };
  const ledgerKey = await retryTransient(() => ownKey(client, options, tell, signal), patience);
  const sharedVersions = await retryTransient(() => seeSharedVersions(client, options, signal), patience);
  const sourceTouched: ConfigStatuses['sourceTouched'] = (ref, change) => statuses.sourceTouched(ref, change);
  const model = createLiveModel({ ...deps, readiness, sourceTouched }, ledgerKey, sharedVersions, signal);
  const writers = createWriters(deps, model, ledgerKey, signal);
  const definition = new ConfigDefinition({ client, clock, report: report.watches });
  const statuses: ConfigStatuses = new ConfigStatuses({
    ...{ ...deps, ...model, ...ledgerKey, report: report.system },
    mayWrite: () => deps.leadership.mayWrite(),
    serverNow: () => client.serverNow(),
    pruned: () => definition.pruned,
    want: (ref) => model.reader.want(ref),
    restart: (key) => writers.evictions.progress(key),
  });
  report.onOutcome((outcome) => statuses.outcome(outcome));
  deps.metrics.beforeRender(() => {
    const { degraded, fine } = statuses.counts();
    deps.metrics.set('attune_reloader_configs', { degraded: 'true' }, degraded);
    deps.metrics.set('attune_reloader_configs', { degraded: 'false' }, fine);
  });
  writers.evictions.onProgress((key) => statuses.workloadTouched(key));
  const { engine, checkpoint, reader, watches } = model;
  client.onRecovery((lastedMs) => model.queue.forgive(clock.now() - lastedMs));
  const reading = reader.run(signal);
  const told = { definition, statuses, pauses: writers.pauses, report: report.watches };
  await follow({ ...model, ...told, options, signal }, workloads);
  const end = async (): Promise<void> => {
    checkpoint.stop();
    await Promise.all([reading, watches.ended()]);
  };
  // Called off, the watches are synced without having seen anything.
  if (signal.aborted) return end();
  if (workloads) {
    await retryTransient(() => checkpoint.load(), patience);
    await reader.readAll(unreadIn(engine, model), (kind, namespace) => model.sources.countIn(kind, namespace));
  }
  engine.begin();
  model.begin();
  // A standby is ready to take over. Who works alone is ready when a downtime from here on would lose nothing.
  const isAlone = !elects && workloads;
  if (!isAlone) void readiness.begin(async () => {});
  await deps.leadership.run(signal, async (term) => {
    const isReady = !workloads || (await takeOver(deps, writers, term));
    const ledgerKept = ledgerKeeper(deps, model, term);
    const kept = isAlone ? () => readiness.begin(ledgerKept) : ledgerKept;
    if (isReady) await work(deps, { ...writers, statuses }, term, kept);
  });
  await end();
}

/**
 * A new term: know what the leader before us settled, finish what it began, and only then write. False if the term ended
 * before that.
 */
async function takeOver(
  { options, clock, report }: ControllerDeps,
  { model: { engine, checkpoint }, replacements, pauses }: Writers,
  term: AbortSignal,
): Promise<boolean> {
  const tryOnce = async (): Promise<void> => {
    if (options.enableHa) {
      await checkpoint.load();
      engine.termBegan();
    }
    checkpoint.forgetPast();
    await replacements.resume(term);
    for (const { workload } of engine.states.values()) pauses.seen(workload);
  };
  const retrying = (error: KubeError): void => report.watches.waitingForServer(error);
  try {
    await retryTransient(tryOnce, { clock, signal: term, retrying });
    return true;
  } catch (error) {
    if (term.aborted) return false;
    throw error;
  }
}

/** Writes down what is known; later than at the start the sources of what has become visible have to be read before. */
function ledgerKeeper({ clock, log }: ControllerDeps, model: LiveModel, term: AbortSignal): () => Promise<void> {
  let isStart = true;
  return async () => {
    if (!isStart) await model.reader.settled();
    isStart = false;
    try {
      await retryTransient(() => model.checkpoint.establish(), { clock, signal: term });
    } catch (error) {
      if (!term.aborted) log.error('the ledger cannot be written', { error: String(error) });
    }
  };
}

async function work(
  deps: ControllerDeps,
  writers: Writers & { readonly statuses: ConfigStatuses },
  term: AbortSignal,
  keepLedger: () => Promise<void>,
): Promise<void> {
  const { model, pauses, replacements, evictions, statuses, reconcileDeps } = writers;
  const { queue, checkpoint, oldRecords } = model;
  // A pass that waits for an answer while the term ends must not go on in the next, which may be ours again.
  const passDeps = { ...reconcileDeps, mayWrite: () => !term.aborted && reconcileDeps.mayWrite() };
  const handle = (key: WorkloadKey): Promise<void> => reconcile(passDeps, key);
  const failed = (key: WorkloadKey, error: unknown): void => {
    deps.log.error('reconciling failed', { ...refOfKey(key), error: String(error), retry: 'soon' });
    queue.retry(key, KubeError.is(error) ? setbackOf(error) : undefined);
  };
  const workers = runWorkers(queue, { workers: deps.options.concurrency, clock: deps.clock, handle, failed }, term);
  const resuming = pauses.run(term);
  const telling = statuses.run(term);
  const rewriting = rewriteRecords({ ...deps, ...model, report: deps.report.ledger, queue: oldRecords }, term);
  // Beside the work: no change has to wait for it.
  const ledger = keepLedger();
  if (!term.aborted) {
    await new Promise<void>((resolve) => term.addEventListener('abort', () => resolve(), { once: true }));
  }
  evictions.stop();
  const deadline = Promise.withResolvers<void>();
  const callOff = deps.clock.after(DRAIN_MS, deadline.resolve);
  const written = Promise.all([workers.then(() => replacements.ended()), resuming, telling, rewriting, ledger]);
  await Promise.race([written.then(() => checkpoint.close()), deadline.promise]);
  callOff();
}
