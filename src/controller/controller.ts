import { refOfKey } from '../domain/workload.ts';
import type { KubeClient } from '../kube/client.ts';
import { KubeError } from '../kube/kube-error.ts';
import { patiently } from '../kube/patiently.ts';
import type { Clock } from '../runtime/clock.ts';
import { runWorkers } from '../runtime/worker.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Checkpoint } from './checkpoint.ts';
import { createCore } from './core.ts';
import { follow } from './follow.ts';
import { createHands, type Hands } from './hands.ts';
import { installationKey, type KeyReport } from './installation-key.ts';
import type { Leadership } from './leadership.ts';
import { rewriteRecords } from './old-records.ts';
import type { ControllerOptions } from './options.ts';
import { reconcile } from './reconcile.ts';
import type { Report } from './report.ts';
import { setbackOf } from './setback.ts';
import { seeSharedVersions } from './shared-versions.ts';

export interface ControllerDeps {
  readonly options: ControllerOptions;
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly report: Report;
  /** Who may write, and when. */
  readonly leadership: Leadership;
  /** `--webhook-url`: told of each change instead of anything being rolled. */
  readonly notify: (() => void) | undefined;
  readonly onReady: () => void;
}

// Writes in flight are finished; what waits belongs to the successor.
const DRAIN_MS = 4000;

/** Runs until aborted: watch, remember, and bring what changed to whoever asked for it. */
export async function runController(deps: ControllerDeps, signal: AbortSignal): Promise<void> {
  const { client, options, clock, report } = deps;
  const patience = { clock, signal, retrying: (error: KubeError) => report.waitingForServer(error) };
  const tell: KeyReport = {
    keyless(error) {
      if (deps.notify === undefined) report.keyless(error);
    },
    weakKey: (bytes, error) => report.weakKey(bytes, error),
  };
  const installation = await patiently(() => installationKey(client, options, tell), patience);
  const sharedVersions = await patiently(() => seeSharedVersions(client, options), patience);
  const core = createCore(deps, installation, sharedVersions, signal);
  const hands = createHands(deps, core, installation, signal);
  const { engine, checkpoint, reader, watches } = core;
  const reading = reader.run();
  await follow({ ...core, options, report: deps.report, pauses: hands.pauses }, deps.notify === undefined);
  if (deps.notify === undefined) {
    await patiently(() => checkpoint.load(), patience);
    await reader.readAll(engine.unread(), (kind, namespace) => core.sources.countIn(kind, namespace));
  }
  engine.begin();
  core.begin();
  // A standby is ready to take over. Who works alone is ready when a downtime from here on would lose nothing.
  if (options.enableHa || deps.notify) deps.onReady();
  await deps.leadership.run(signal, async (term) => {
    const isReady = deps.notify !== undefined || (await begins(deps, hands, term));
    if (isReady) await work(deps, hands, term);
  });
  reader.stop();
  checkpoint.stop();
  await Promise.all([reading, watches.ended()]);
}

/** False if the term ended before it could begin. */
async function begins(deps: ControllerDeps, hands: Hands, term: AbortSignal): Promise<boolean> {
  const retrying = (error: KubeError): void => deps.report.waitingForServer(error);
  try {
    await patiently(() => takeOver(deps, hands), { clock: deps.clock, signal: term, retrying });
    return true;
  } catch (error) {
    if (term.aborted) return false;
    throw error;
  }
}

/** A new term: know what the leader before us settled, finish what it began, and only then write. */
async function takeOver(deps: ControllerDeps, { core, replacements, pauses }: Hands): Promise<void> {
  const { engine, checkpoint } = core;
  if (deps.options.enableHa) {
    await checkpoint.load();
    engine.reconsider();
  }
  checkpoint.forgetPast();
  await replacements.resume();
  for (const { workload } of engine.states.values()) pauses.seen(workload);
}

/** Beside the work: no change has to wait for it. */
async function establishLedger(deps: ControllerDeps, ledger: Checkpoint, term: AbortSignal): Promise<void> {
  const { clock, log, options } = deps;
  try {
    await patiently(() => ledger.establish(), { clock, signal: term });
  } catch (error) {
    if (term.aborted) return;
    log.error('the ledger cannot be written', { error: String(error) });
  }
  if (!options.enableHa && deps.notify === undefined) deps.onReady();
}

async function work(deps: ControllerDeps, hands: Hands, term: AbortSignal): Promise<void> {
  const { core, pauses, replacements, reconcileDeps } = hands;
  const { queue, checkpoint, oldRecords } = core;
  deps.client.onRecovery((lastedMs) => queue.forgive(deps.clock.now() - lastedMs));
  const workers = runWorkers(queue, {
    workers: deps.options.concurrency,
    clock: deps.clock,
    handle: (key) => reconcile(reconcileDeps, key),
    failed: (key, error) => {
      deps.log.error('reconciling failed', { ...refOfKey(key), error: String(error), retry: 'soon' });
      queue.retry(key, KubeError.is(error) ? setbackOf(error) : undefined);
    },
  });
  const resuming = pauses.run();
  const rewriting = rewriteRecords({ ...deps, former: core.former, queue: oldRecords }, term);
  const ledger = establishLedger(deps, checkpoint, term);
  if (!term.aborted) {
    await new Promise<void>((resolve) => term.addEventListener('abort', () => resolve(), { once: true }));
  }
  queue.close();
  pauses.stop();
  oldRecords.close();
  const deadline = Promise.withResolvers<void>();
  const callOff = deps.clock.after(DRAIN_MS, deadline.resolve);
  const written = Promise.all([workers.then(() => replacements.ended()), resuming, rewriting, ledger]);
  await Promise.race([written.then(() => checkpoint.close()), deadline.promise]);
  callOff();
}
