import { type AgentSettings, parseAgentSettings } from '../../config/agent-settings.ts';
import { connect } from '../../kube/auth/connection.ts';
import { KubeClient } from '../../kube/client.ts';
import { systemClock } from '../../runtime/clock.ts';
import { shrinkAtRest } from '../../runtime/heap-at-rest.ts';
import { setV8Flags } from '../../runtime/v8-flags.ts';
import { createLog, type Log } from '../../telemetry/log.ts';
import { commandWord } from '../command-word.ts';
import { redisAgentHelp } from '../help.ts';
import { crashFields, INTERNAL_ERROR, onCrash } from '../terminal/crash.ts';
import type { Io } from '../terminal/io.ts';
import { layoutFor } from '../terminal/layout.ts';
import { endingWithin } from '../terminal/signals.ts';
import { VERSION } from '../version.ts';

const ENGINES = `attune agent ENGINE [flags]

Runs in the pod of a program and applies its configuration there, live.

  redis   Redis, by a RedisCluster

attune agent redis --help tells more.
`;

const USAGE = '\nUsage: attune agent redis [flags]\nSee attune agent redis --help for what each flag does.\n';

// Beside stopping Redis: a last word to status, and the sockets.
const FAREWELL_MS = 7000;

/** `attune agent`: which program it is for comes first. */
export async function run(argv: readonly string[], io: Io): Promise<number> {
  const found = commandWord(argv);
  if (found?.word === 'redis') return await redis(found.rest, io);
  const isHelp = found === undefined && argv.some((word) => word === '--help' || word === '-h');
  if (isHelp) {
    io.stdout(ENGINES);
    return 0;
  }
  const said = found ? `there is no agent for "${found.word}"` : 'it has to be said for which program: redis';
  io.stderr(`attune agent: ${said}\n\n${ENGINES}`);
  return 2;
}

async function redis(argv: readonly string[], io: Io): Promise<number> {
  setV8Flags(io.env['NODE_OPTIONS']);
  const parsed = parseAgentSettings(argv, io.env);
  if (!parsed.ok) {
    for (const problem of parsed.problems) io.stderr(`Error: ${problem}\n`);
    if (parsed.problems.length > 0) io.stderr(USAGE);
    else io.stdout(redisAgentHelp(layoutFor(io.terminal, io.env)));
    return parsed.problems.length > 0 ? 1 : 0;
  }
  const { logFormat: format, logLevel: level } = parsed.settings;
  const log = createLog({ format, level, write: io.stderr, now: systemClock.wall });
  const leaveAsIs = shrinkAtRest(systemClock);
  const forget = onCrash(log);
  try {
    return await agent(parsed.settings, log, io);
  } finally {
    forget();
    leaveAsIs();
  }
}

async function agent(settings: AgentSettings, log: Log, io: Io): Promise<number> {
  const client = await reach(settings, log, io);
  if (!client) return 1;
  let code = 0;
  try {
    // Loaded when it is called for: help needs no client for Redis.
    const { runRedisAgent } = await import('../../agent/redis/run.ts');
    const deps = { client, clock: systemClock, log, version: VERSION };
    const work = runRedisAgent(settings, deps, io.signal).then((ended) => {
      code = ended;
    });
    await endingWithin(settings.stopTimeoutMs + FAREWELL_MS, work, io.signal, systemClock);
    return code;
  } catch (error) {
    log.error('The agent cannot go on', crashFields(error));
    return INTERNAL_ERROR;
  } finally {
    client.close();
  }
}

/** Asks nothing of the API server: Redis has to start without it too. */
async function reach(settings: AgentSettings, log: Log, io: Io): Promise<KubeClient | undefined> {
  const { kubeconfig, context } = settings;
  try {
    const connection = await connect({ kubeconfig, context: context || undefined, env: io.env });
    const { origin, pathname } = connection.server;
    log.info(`Attune ${VERSION} is an agent for Redis`, { program: 'attune', server: `${origin}${pathname}` });
    return new KubeClient(connection);
  } catch (error) {
    log.error(`Attune cannot go on: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
}
