import { quote } from '../../config/diagnostics.ts';
import { parseSettings } from '../../config/parse-settings.ts';
import type { Settings } from '../../config/settings.ts';
import { isNamespaceName } from '../../config/watched-namespaces.ts';
import { connect } from '../../kube/auth/connection.ts';
import { KubeClient } from '../../kube/client.ts';
import { CLUSTER_FLAGS, OWN_FLAGS } from '../own-flags.ts';
import { type Request, readRequest } from '../request.ts';
import { ending, refuse } from '../terminal/ending.ts';
import type { Io } from '../terminal/io.ts';
import { type Layout, layoutFor } from '../terminal/layout.ts';
import { unlessStopped } from '../terminal/signals.ts';

/** A command that speaks to a cluster: what is common to all of them is done here. */
interface ClusterCommand<T> {
  readonly name: keyof typeof OWN_FLAGS;
  readonly usage: string;
  /** What the operands and own flags mean, or what is wrong with them. */
  readonly read: (request: Request) => T | string;
  readonly run: (wanted: T, cluster: Cluster) => Promise<number>;
  /** The exit code where the cluster did not answer; 1 unless that means something else. */
  readonly failure?: number;
}

/** The cluster, as the user reaches it. */
export interface Cluster {
  readonly client: KubeClient;
  /** By the flags and variables of this command line. */
  readonly settings: Settings;
  readonly request: Request;
  /** -n, else that of the kubeconfig's context, else default. */
  readonly namespace: string;
  readonly page: Layout;
  readonly io: Io;
}

/** How a cluster is reached; `everywhere` is what no namespace means. */
const reachUsage = (everywhere: string): string => `
  -n, --namespace NAMESPACE   where; by default ${everywhere}
  --kubeconfig FILE           which cluster; by default $KUBECONFIG, ~/.kube/config, or the pod's own
  --context NAME              which context of the kubeconfig
  --sandbox[=NAME]            the sandbox of this machine instead
`;

/** What the usage of every such command ends with. */
export const clusterUsage = (everywhere: string): string => `${reachUsage(everywhere)}\
  --attune-namespace NAME     where Attune keeps its ledger; by default it is looked for
`;

const OF_CONTEXT = "the namespace of the kubeconfig's context";

/** For commands about one object. */
export const CLUSTER_USAGE = clusterUsage(OF_CONTEXT);
/** The same where nobody asks the ledger. */
export const REACH_USAGE = reachUsage(OF_CONTEXT);

/** The command as `attune` runs it. 0: done. 1: it could not be done. 2: the command line is wrong. 130: it was stopped. */
export function clusterCommand<T>({ name, usage, read, run, failure }: ClusterCommand<T>) {
  return async (argv: readonly string[], io: Io): Promise<number> => {
    const request = readRequest(argv, [...CLUSTER_FLAGS, ...OWN_FLAGS[name]]);
    if (request.help) {
      io.stdout(usage);
      return 0;
    }
    const home = request.own.get('attune-namespace');
    const env = home === undefined ? io.env : { ...io.env, ATTUNE_NAMESPACE: home };
    const parsed = parseSettings(request.controller, env);
    const wanted = read(request);
    const problems = [...request.problems, ...misnamed(request), ...(parsed.ok ? [] : parsed.problems)];
    if (typeof wanted === 'string') problems.push(wanted);
    if (problems.length > 0 || !parsed.ok || typeof wanted === 'string') return refuse(name, problems, io);
    const work = async (): Promise<number> => {
      const reached = await reach(request, io);
      const cluster = { ...reached, settings: parsed.settings, request, page: layoutFor(io.terminal, io.env), io };
      return await run(wanted, cluster).finally(() => reached.client.close());
    };
    return await ending(name, io, () => unlessStopped(work(), io.signal), failure);
  };
}

async function reach(request: Request, io: Io): Promise<Pick<Cluster, 'client' | 'namespace'>> {
  const connection = await connect({ ...(await clusterOf(request, io)), env: io.env });
  const client = new KubeClient(connection);
  // Nothing is asked, and nothing is written, after a stop.
  io.signal.addEventListener('abort', () => client.close(), { once: true });
  return { client, namespace: request.own.get('namespace') ?? (connection.namespace || 'default') };
}

/** An empty name, as of a variable that is not set, means all namespaces to the API; one of dots leads to another path. */
const misnamed = ({ own }: Request): readonly string[] =>
  ['namespace', 'attune-namespace'].flatMap((flag) => {
    const name = own.get(flag);
    if (name === undefined || isNamespaceName(name)) return [];
    return [`--${flag} must be the name of a namespace, not ${quote(name)}`];
  });

/** What is wrong with words where only flags are understood; one that is no name may be a credential. */
export function refusedOperands({ operands }: Request): string | undefined {
  const [word] = operands;
  if (word === undefined) return undefined;
  return `only flags are understood here${/^[a-z0-9-]{1,63}$/.test(word) ? `; did you mean -n ${word}?` : ''}`;
}

/** For commands that take nothing but flags, and print for people or with `-o json` for programs. */
export function jsonOrText(request: Request): { readonly json: boolean } | string {
  const output = request.own.get('output');
  const refused = refusedOperands(request);
  if (refused !== undefined) return refused;
  return output === undefined || output === 'json' ? { json: output === 'json' } : `-o knows json, not ${output}`;
}

async function clusterOf({ own }: Request, io: Io) {
  const sandbox = own.get('sandbox');
  if (sandbox === undefined) return { kubeconfig: own.get('kubeconfig'), context: own.get('context') };
  const { inspectSandbox } = await import('../../sandbox/inspect.ts');
  const name = sandbox === 'true' ? 'default' : sandbox;
  const found = inspectSandbox(io.env, name);
  if (found?.state === 'up') return { kubeconfig: found.kubeconfig };
  throw new Error(`the sandbox ${name} is not up; start it with attune sandbox up, or with npm start`);
}
