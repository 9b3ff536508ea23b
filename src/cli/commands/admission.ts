import { parseSettings } from '../../config/parse-settings.ts';
import type { Settings } from '../../config/settings.ts';
import { connect } from '../../kube/auth/connection.ts';
import { KubeClient } from '../../kube/client.ts';
import { systemClock } from '../../runtime/clock.ts';
import { setV8Flags } from '../../runtime/v8-flags.ts';
import { createLog, type Log } from '../../telemetry/log.ts';
import { admissionMetrics } from '../../telemetry/metric-tables/admission.ts';
import { createServer } from '../../telemetry/server.ts';
import { createAdmission } from '../admission/serve.ts';
import { commandWord } from '../command-word.ts';
import { admissionHelp } from '../help.ts';
import type { Io } from '../terminal/io.ts';
import { layoutFor } from '../terminal/layout.ts';
import { endingWithin } from '../terminal/signals.ts';
import { VERSION } from '../version.ts';

const USAGE = '\nUsage: attune admission [install | uninstall | status] [flags]\nSee attune admission --help.\n';
const PORT = 9090;
// After the drain, what is under way is answered; then nobody is waited for.
const STOP_MS = 4000;

type Run = (argv: readonly string[], io: Io) => Promise<number>;

/** What can be done about the registration, beside serving. */
const WORDS: Readonly<Record<string, () => Promise<{ readonly run: Run }>>> = {
  install: () => import('../admission/install.ts'),
  uninstall: () => import('../admission/uninstall.ts'),
  status: () => import('../admission/status.ts'),
};

/** `attune admission`: the server alone, or what there is to do about its registration. */
export async function run(argv: readonly string[], io: Io): Promise<number> {
  const found = commandWord(argv);
  if (!found) return await serve(argv, io);
  const load = Object.hasOwn(WORDS, found.word) ? WORDS[found.word] : undefined;
  if (load) return await (await load()).run(found.rest, io);
  io.stderr(`Error: there is no attune admission ${found.word}\n${USAGE}`);
  return 2;
}

async function serve(argv: readonly string[], io: Io): Promise<number> {
  setV8Flags(io.env['NODE_OPTIONS']);
  const parsed = parseSettings(argv, io.env);
  if (!parsed.ok) {
    for (const problem of parsed.problems) io.stderr(`Error: ${problem}\n`);
    if (parsed.problems.length > 0) io.stderr(USAGE);
    else io.stdout(admissionHelp(layoutFor(io.terminal, io.env)));
    return parsed.problems.length > 0 ? 1 : 0;
  }
  const { logFormat: format, logLevel: level, admissionServer } = parsed.settings;
  const log = createLog({ format, level, write: io.stderr, now: systemClock.wall });
  try {
    const work = startAdmission(parsed.settings, log, io);
    await endingWithin(admissionServer.drainMs + STOP_MS, work, io.signal, systemClock);
    return 0;
  } catch (error) {
    if (io.signal.aborted) return 0;
    log.error(`Attune cannot go on: ${error instanceof Error ? error.message : String(error)}`);
    return 1;
  }
}

async function startAdmission(settings: Settings, log: Log, io: Io): Promise<void> {
  const { kubeconfig, context, listenAddress: host } = settings;
  const connection = await connect({ kubeconfig, context: context || undefined, env: io.env });
  const { origin, pathname } = connection.server;
  log.info(`Starting admission: Attune ${VERSION}`, { program: 'attune', server: `${origin}${pathname}` });
  const client = new KubeClient(connection);
  const metrics = admissionMetrics();
  const own = { ...settings, ownNamespace: settings.ownNamespace || connection.namespace || '' };
  const admission = createAdmission(own, { client, clock: systemClock, log, metrics });
  const telemetry = createServer({
    host,
    port: PORT,
    live: () => true,
    ready: () => admission.isReady(),
    render: () => metrics.render(),
    log,
    clock: systemClock,
  });
  telemetry.start();
  await admission.run(io.signal);
  await telemetry.stop();
  client.close();
}
