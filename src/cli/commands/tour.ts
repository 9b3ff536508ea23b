import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { quote } from '../../config/diagnostics.ts';
import { connect } from '../../kube/auth/connection.ts';
import { KubeClient } from '../../kube/client.ts';
import { inspectSandbox } from '../../sandbox/inspect.ts';
import { requireRedisServer } from '../../sandbox/redis/redis-image.ts';
import { AlreadyUp, type Sandbox, startSandbox } from '../../sandbox/sandbox.ts';
import { readStateFile } from '../../sandbox/state-file.ts';
import { startPodRunner } from '../sandbox/pod-runner.ts';
import { ending } from '../terminal/ending.ts';
import type { Io } from '../terminal/io.ts';
import { endOfNpm } from '../terminal/signals.ts';
import { Tour } from '../tour/tour.ts';
import type { TourPage } from '../tour/tour-page.ts';

const USAGE = `attune tour [redis] [--once] [--keep] [--name NAME]

A real control plane on this machine, a small application, the controller, and a change that arrives. Then it follows
what you do, until Ctrl-C, and clears everything away.

  redis         a tour of Redis instead: three pods with TLS and a password under load, whose memory, password and
                certificate change; ends with 0 only if not a single command failed

  --once        end after the tour: with 0 only if the changes really reached the pods
  --keep        leave the sandbox running at the end
  --name NAME   of the sandbox (default: default)
`;

interface TourOptions {
  readonly once: boolean;
  readonly keep: boolean;
  readonly name: string;
  /** Of Redis, instead of the controller. */
  readonly redis: boolean;
}

/** `attune tour`, which is what `npm start` runs. */
export async function run(argv: readonly string[], io: Io): Promise<number> {
  const options = parseTourOptions(argv);
  if (typeof options === 'string') {
    io.stderr(`attune tour: ${options}\n\n${USAGE}`);
    return 2;
  }
  if (options === undefined) {
    io.stdout(USAGE);
    return 0;
  }
  const signal = AbortSignal.any([io.signal, endOfNpm(io.env)]);
  const stoppable = { ...io, signal };
  return await ending('tour', stoppable, () => (options.redis ? runRedisSteps : runSteps)(options, stoppable));
}

/** Undefined if help is wanted; a text says what is wrong. */
function parseTourOptions(argv: readonly string[]): TourOptions | string | undefined {
  try {
    const { values, positionals } = parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        once: { type: 'boolean', default: false },
        keep: { type: 'boolean', default: false },
        name: { type: 'string', default: 'default' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    const [what, ...more] = positionals;
    if ((what !== undefined && what !== 'redis') || more.length > 0)
      return `there is a tour of redis, none of ${quote(positionals.join(' '))}`;
    return values.help ? undefined : { ...values, redis: what === 'redis' };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const CONTROL_PLANE = 'A real control plane: etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kwok';

async function runSteps(options: TourOptions, io: Io): Promise<number> {
  const tour = new Tour(io);
  tour.title(CONTROL_PLANE);
  const sandbox = await openSandbox(options, tour, io);
  tour.done(`ready at ${sandbox.server}`);
  try {
    await showChanges(tour, sandbox);
    if (options.once) return 0;
    tour.suggest(options.name);
    // What the controller does shows until the user ends the tour.
    if (!io.signal.aborted) await Promise.race([once(io.signal, 'abort'), tour.controllerEnded]);
    return 0;
  } finally {
    // The sandbox is ended even if the controller fails.
    try {
      await tour.stopController();
    } finally {
      tour.say(await sandbox.end());
    }
  }
}

async function runRedisSteps(options: TourOptions, io: Io): Promise<number> {
  requireRedisServer(io.env);
  // Loaded when it is called for: it has a client for Redis, and makes certificates.
  const { RedisTour } = await import('../tour/redis/redis-tour.ts');
  const tour = new RedisTour(io);
  tour.title(CONTROL_PLANE);
  const sandbox = await openSandbox(options, tour, io);
  tour.done(`ready at ${sandbox.server}`);
  const client = new KubeClient(await connect({ kubeconfig: sandbox.kubeconfig, env: {} }));
  try {
    startPodRunner({ name: options.name, dir: sandbox.dir }, io);
    tour.title('Three pods with Redis, and an agent in each');
    await tour.install(client);
    tour.title('Load');
    await tour.startLoad(client);
    tour.title('A setting changes: maxmemory');
    await tour.changeMemory(client);
    tour.title('The password changes');
    await tour.changePassword(client);
    tour.title('The certificate changes');
    await tour.changeCertificate(client);
    tour.title('What the clients noticed');
    await tour.proveNothingFailed();
    tour.finish();
    if (options.once) return 0;
    tour.suggest(options.name);
    if (!io.signal.aborted) await once(io.signal, 'abort');
    return 0;
  } finally {
    try {
      await tour.stopLoad();
      client.close();
    } finally {
      tour.say(await sandbox.end());
    }
  }
}

interface TourSandbox extends Pick<Sandbox, 'server' | 'kubeconfig' | 'dir'> {
  /** Returns a line for the user: whether the sandbox still runs. */
  readonly end: () => Promise<string>;
}

async function openSandbox({ name, keep }: TourOptions, tour: TourPage, io: Io): Promise<TourSandbox> {
  try {
    const options = { name, env: io.env, owned: !keep, signal: io.signal };
    const sandbox = await tour.waiting((say, showStatus) => startSandbox({ ...options, showStatus }, say));
    const end = async (): Promise<string> => {
      if (!keep) await sandbox.stop();
      sandbox.detach();
      return keep ? staysUpNotice(name) : 'Everything is cleared away.';
    };
    return { ...sandbox, end };
  } catch (error) {
    if (io.signal.aborted) tour.say('\nEverything is cleared away.');
    const found = error instanceof AlreadyUp ? inspectSandbox(io.env, name) : undefined;
    // A sandbox that belongs to another tour is not used; any other is used, and runs on afterwards.
    if (!found?.server || readStateFile(found.dir)?.owner) throw error;
    tour.detail(`the sandbox ${name} is up already and is used`);
    return { ...found, server: found.server, end: async () => staysUpNotice(name) };
  }
}

const staysUpNotice = (name: string): string =>
  `The sandbox stays up. To end it: ./attune sandbox ${name === 'default' ? '' : `--name ${name} `}down`;

async function showChanges(tour: Tour, { kubeconfig, dir }: TourSandbox): Promise<void> {
  const client = new KubeClient(await connect({ kubeconfig, env: {} }));
  try {
    tour.title('A small application in namespace demo');
    await tour.installDemo(client);
    tour.title('The controller');
    await tour.startController(kubeconfig, dir);
    tour.title('A ConfigMap changes');
    await tour.change(client, 'ConfigMap', 'app');
    tour.title('A Secret changes');
    await tour.change(client, 'Secret', 'db-password');
    tour.title('A ReloaderConfig asks, where no annotation does');
    await tour.followConfig(client);
    tour.title('Somebody else writes the Deployment');
    await tour.replace(client);
    tour.finish();
  } finally {
    client.close();
  }
}
