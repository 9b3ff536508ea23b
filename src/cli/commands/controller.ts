import { parseSettings } from '../../config/parse-settings.ts';
import type { Settings } from '../../config/settings.ts';
import { runController } from '../../controller/controller.ts';
import { aloneLeadership, electedLeadership, type Leadership } from '../../controller/leadership.ts';
import { Report } from '../../controller/report/report.ts';
import type { Outcome } from '../../domain/outcome/outcome.ts';
import { type Connection, connect } from '../../kube/auth/connection.ts';
import { KubeClient } from '../../kube/client.ts';
import { EventSink } from '../../kube/events/event-sink.ts';
import type { Observation } from '../../kube/wire/transport.ts';
import { systemClock } from '../../runtime/clock.ts';
import { shrinkAtRest } from '../../runtime/heap-at-rest.ts';
import { setV8Flags } from '../../runtime/v8-flags.ts';
import { createAlerts } from '../../telemetry/alerts.ts';
import { createLog, type Log } from '../../telemetry/log.ts';
import { type ControllerMetrics, controllerMetrics } from '../../telemetry/metric-tables/controller.ts';
import { createServer } from '../../telemetry/server.ts';
import { createWebhook } from '../../telemetry/webhook.ts';
import { controllerHelp } from '../help.ts';
import { publishMetaInfo } from '../info/meta-info.ts';
import { publishing } from '../info/publish-info.ts';
import type { Io } from '../terminal/io.ts';
import { layoutFor } from '../terminal/layout.ts';
import { endingWithin } from '../terminal/signals.ts';
import { VERSION } from '../version.ts';

const USAGE = '\nUsage: attune [controller] [flags]\nSee attune controller --help for what each flag does.\n';
const PORT = 9090;
// Events and alerts are nice to have; a pod that is told to go has little time.
const FAREWELL_MS = 500;
// The writes in flight, the Lease and the farewell have less; only a server that is silent makes it as long. A pod has 15 s.
const STOP_MS = 7000;
// Watches hold a connection each, and there may be many; writes are bounded by --concurrency and, those that hang, by the
// workers' slow lane.
const MAX_SOCKETS = 4096;

export async function run(argv: readonly string[], io: Io): Promise<number> {
  setV8Flags(io.env['NODE_OPTIONS']);
  const parsed = parseSettings(argv, io.env);
  if (!parsed.ok) {
    for (const problem of parsed.problems) io.stderr(`Error: ${problem}\n`);
    if (parsed.problems.length > 0) io.stderr(USAGE);
    else io.stdout(controllerHelp(layoutFor(io.terminal, io.env)));
    return parsed.problems.length > 0 ? 1 : 0;
  }
  const { logFormat: format, logLevel: level, admission, admissionServer } = parsed.settings;
  const stopMs = STOP_MS + (admission ? admissionServer.drainMs : 0);
  const log = createLog({ format, level, write: io.stderr, now: systemClock.wall });
  const leaveAsIs = shrinkAtRest(systemClock);
  try {
    await endingWithin(stopMs, startController(parsed.settings, parsed.warnings, log, io), io.signal, systemClock);
    return 0;
  } catch (error) {
    if (io.signal.aborted) return 0;
    log.error(`Attune cannot go on: ${error instanceof Error ? error.message : String(error)}`);
    return 1;
  } finally {
    leaveAsIs();
  }
}

/** Wires the controller to the cluster and to its outputs, and runs it until the signal. */
export async function startController(
  settings: Settings,
  warnings: readonly string[],
  log: Log,
  io: Io & { readonly onOutcome?: (outcome: Outcome) => void; readonly onReady?: () => void },
): Promise<void> {
  const metrics = controllerMetrics({ byNamespace: settings.metricsByNamespace, admission: settings.admission });
  const { kubeconfig, context } = settings;
  const connection = await connect({ kubeconfig, context: context || undefined, env: io.env });
  sayWhoStarts(settings, connection, log);
  for (const warning of warnings) log.warn(warning);
  const client = new KubeClient(connection, { maxSockets: MAX_SOCKETS, observe: restMetrics(metrics) });
  const clock = systemClock;
  const events = eventSink(client, () => report);
  countEvents(metrics, events);
  const alerts = createAlerts(settings.alerts, { log, clock, metrics });
  const webhook = settings.webhookUrl ? createWebhook(settings.webhookUrl, { log, clock }) : undefined;
  const report: Report = new Report({
    log,
    metrics,
    clock,
    compat: settings.compat,
    post: (event) => events.post(event),
    alert: (alert) => alerts.send(alert),
    mayTell: () => leadership.mayWrite(),
    ending: io.signal,
    onOutcome: io.onOutcome,
  });
  const options = { ...settings, ownNamespace: settings.ownNamespace || connection.namespace || '' };
  const candidate = { namespace: settings.podNamespace, identity: settings.podName, leadsOnce: settings.compat };
  const leadership: Leadership = settings.enableHa
    ? electedLeadership({ client, clock, report: report.system, ...candidate })
    : aloneLeadership();
  let ready = false;
  // Loaded where it is served: others must not carry it in their memory.
  const admission = settings.admission
    ? (await import('../admission/serve.ts')).createAdmission(options, { client, clock, log, metrics })
    : undefined;
  const server = createServer({
    host: settings.listenAddress,
    port: PORT,
    live: () => leadership.isAlive(),
    ready: () => ready && !io.signal.aborted && admission?.isReady() !== false,
    render: () => metrics.render(),
    log,
    clock,
  });
  server.start();
  void publishMetaInfo(client, settings, log);
  const controller = runController(
    {
      options,
      client,
      clock,
      log,
      metrics,
      report,
      leadership: publishing(leadership, { client, clock, log, settings: options }),
      notify: webhook && (() => leadership.mayWrite() && webhook.send()),
      onReady: () => {
        ready = true;
        log.info('Attune is ready');
        io.onReady?.();
      },
      onUnready: () => {
        ready = false;
      },
    },
    io.signal,
  );
  await Promise.all([controller, admission?.run(io.signal)]);
  await Promise.all([events.close(FAREWELL_MS), alerts.drain(FAREWELL_MS), webhook?.drain(FAREWELL_MS), server.stop()]);
  client.close();
}

/** Who starts on the wrong cluster is to see it in the first line. */
function sayWhoStarts({ compat, scope }: Settings, { server, context }: Connection, log: Log): void {
  // Upstream's words, in both modes: people search their logs for them.
  log.info(compat ? 'Starting Reloader' : `Starting Reloader: Attune ${VERSION}`, {
    program: 'attune',
    version: VERSION,
    mode: compat ? 'stakater' : 'default',
    // Without a user and a password, which a URL may have.
    server: `${server.origin}${server.pathname}`,
    context: context ?? 'in-cluster',
    namespaces: namespacesIn(scope),
  });
  if (scope.mode === 'namespaces') log.info(`Watching scoped namespaces: ${scope.namespaces.join(', ')}`);
}

function namespacesIn(scope: Settings['scope']): string {
  if (scope.mode === 'namespaces') return scope.namespaces.join(', ');
  const matching = scope.selector ? ` with labels ${scope.selector}` : '';
  return `all${matching}${scope.ignore.length > 0 ? ` except ${scope.ignore.join(', ')}` : ''}`;
}

const restMetrics =
  (metrics: ControllerMetrics) =>
  ({ method, code, ms, host }: Observation): void => {
    metrics.increment('rest_client_requests_total', { code, method, host });
    metrics.observe('rest_client_request_duration_seconds', { verb: method, host }, ms / 1000);
  };

/** The report tells of Events that are not sent, and sends those that tell of the rest. */
const eventSink = (client: KubeClient, report: () => Report): EventSink =>
  new EventSink({
    client,
    clock: systemClock,
    report: {
      dropping: (cause, first) => report().system.droppingEvents(cause, first),
      dropped: (cause, count) => report().system.droppedEvents(cause, count),
      refused: (error) => report().system.refusedEvent(error),
    },
  });

/** The sink keeps its own score; what came since the last look is added. */
function countEvents(metrics: ControllerMetrics, events: EventSink): void {
  let known = { sent: 0, failed: 0, dropped: 0 };
  metrics.beforeRender(() => {
    const { sent, failed, dropped } = events.counts;
    metrics.increment('attune_event_posts_total', { result: 'success' }, sent - known.sent);
    metrics.increment('attune_event_posts_total', { result: 'error' }, failed - known.failed);
    metrics.increment('attune_event_posts_total', { result: 'dropped' }, dropped - known.dropped);
    known = { sent, failed, dropped };
  });
}
