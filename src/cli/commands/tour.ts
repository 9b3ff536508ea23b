import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { connect } from '../../kube/auth/connection.ts';
import { KubeClient } from '../../kube/client.ts';
import { inspectSandbox } from '../../sandbox/inspect.ts';
import { AlreadyUp, type Sandbox, startSandbox } from '../../sandbox/sandbox.ts';
import { readRecord } from '../../sandbox/sandbox-record.ts';
import type { Io } from '../terminal/io.ts';
import { endOfNpm } from '../terminal/signals.ts';
import { Stage } from '../tour/tour-stage.ts';

const USAGE = `attune tour [--once] [--keep] [--name NAME]

A real control plane on this machine, a small application, the controller, and a change that arrives. Then it follows
what you do, until Ctrl-C, and clears everything away.

  --once        end after the tour: with 0 only if the changes really reached the pods
  --keep        leave the sandbox running at the end
  --name NAME   of the sandbox (default: default)
`;

interface Wanted {
  readonly once: boolean;
  readonly keep: boolean;
  readonly name: string;
}

/** `attune tour`, which is what `npm start` runs. */
export async function runTour(argv: readonly string[], io: Io): Promise<number> {
  const wanted = readWanted(argv);
  if (typeof wanted === 'string') {
    io.stderr(`attune tour: ${wanted}\n\n${USAGE}`);
    return 2;
  }
  if (wanted === undefined) {
    io.stdout(USAGE);
    return 0;
  }
  const signal = AbortSignal.any([io.signal, endOfNpm(io.env)]);
  try {
    return await tour(wanted, { ...io, signal });
  } catch (error) {
    if (signal.aborted) return 130;
    io.stderr(`attune tour: ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  }
}

/** Undefined: help. A text says what is wrong. */
function readWanted(argv: readonly string[]): Wanted | string | undefined {
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: {
        once: { type: 'boolean', default: false },
        keep: { type: 'boolean', default: false },
        name: { type: 'string', default: 'default' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    return values.help ? undefined : values;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

async function tour(wanted: Wanted, io: Io): Promise<number> {
  const stage = new Stage(io);
  stage.title('A real control plane: etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kwok');
  const sandbox = await openSandbox(wanted, stage, io);
  stage.done(`ready at ${sandbox.server}`);
  try {
    await guide(stage, sandbox);
    if (!wanted.once) await follow(wanted.name, stage, io.signal);
    return 0;
  } finally {
    // Whatever became of the controller, the sandbox does not stay.
    try {
      await stage.stopController();
    } finally {
      stage.say(await sandbox.end());
    }
  }
}

interface TourSandbox extends Pick<Sandbox, 'server' | 'kubeconfig' | 'dir'> {
  /** Says what has become of it. */
  readonly end: () => Promise<string>;
}

async function openSandbox({ name, keep }: Wanted, stage: Stage, io: Io): Promise<TourSandbox> {
  try {
    const options = { name, env: io.env, owned: !keep, signal: io.signal };
    const sandbox = await stage.waiting((say, activity) => startSandbox({ ...options, activity }, say));
    const end = async (): Promise<string> => {
      if (!keep) await sandbox.stop();
      sandbox.release();
      return keep ? staysUp(name) : 'Everything is cleared away.';
    };
    return { ...sandbox, end };
  } catch (error) {
    if (io.signal.aborted) stage.say('\nEverything is cleared away.');
    const found = error instanceof AlreadyUp ? inspectSandbox(io.env, name) : undefined;
    // One that stands on its own is used and left standing; one that belongs to another tour is not ours to play in.
    if (!found?.server || readRecord(found.dir)?.owner) throw error;
    stage.detail(`the sandbox ${name} is up already and is used`);
    return { ...found, server: found.server, end: async () => staysUp(name) };
  }
}

const staysUp = (name: string): string =>
  `The sandbox stays up. To end it: ./attune sandbox ${name === 'default' ? '' : `--name ${name} `}down`;

async function guide(stage: Stage, { kubeconfig, dir }: TourSandbox): Promise<void> {
  const client = new KubeClient(await connect({ kubeconfig, env: {} }));
  try {
    stage.title('A small application in namespace demo');
    await stage.installDemo(client);
    stage.title('The controller');
    await stage.startController(kubeconfig, dir);
    stage.title('A ConfigMap changes');
    await stage.change(client, 'ConfigMap', 'app');
    stage.title('A Secret changes');
    await stage.change(client, 'Secret', 'db-password');
    stage.finish();
  } finally {
    client.close();
  }
}

/** The controller's outcomes are told as they come. */
async function follow(name: string, stage: Stage, signal: AbortSignal): Promise<void> {
  stage.suggest(name);
  if (!signal.aborted) await Promise.race([once(signal, 'abort'), stage.controllerEnded]);
}
