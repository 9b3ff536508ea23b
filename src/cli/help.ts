import { AGENT_OPTIONS } from '../config/options/agent.ts';
import { CONTROLLER_OPTIONS } from '../config/options/controller.ts';
import { AGENT_GROUPS, GROUPS, type Option } from '../config/options/option.ts';
import { type OptionTable, rowsOf } from '../config/options/option-table.ts';
import type { Layout } from './terminal/layout.ts';
import { type Paint, painter, wrapped } from './terminal/table.ts';

const PURPOSE = 'Brings a changed ConfigMap or Secret to every workload that asked for it: once, in order, never lost.';

const EXAMPLES = [
  ['attune controller', 'Everything in all namespaces, by the annotations on the workloads.'],
  [
    'attune controller --auto-reload-all --namespaces-to-ignore=kube-system',
    'No annotations needed, except to opt out.',
  ],
  ['attune controller --namespaces=shop,blog --reload-strategy=annotations', 'Two namespaces, with Roles only.'],
  ['attune controller --compat=stakater', 'As Stakater Reloader v1 does it.'],
] as const;

const ADMISSION_PURPOSE =
  'Answers the API server when somebody writes to a workload, so that no other writer can undo a reload: marks and record ' +
  'of a reload come back in the same request, and the hash of SAP pod-reloader is set. Serves until it is stopped; a ' +
  'MutatingWebhookConfiguration has to lead there. `attune controller --admission` does both jobs in one process.';

const ADMISSION_EXAMPLES = [
  ['attune admission install', 'Register it by its Service; --dry-run prints the manifest instead.'],
  ['attune admission --admission-url=https://10.0.0.5:9443', 'Serve outside the cluster.'],
  ['attune admission install --admission-url=https://10.0.0.5:9443', 'Register that one: serving does not.'],
  ['attune admission status', 'Whether it is registered, reachable, and until when its certificate is valid.'],
  ['attune admission uninstall', 'Take the registration away; every write passes as before.'],
] as const;

const AGENT_PURPOSE =
  'Runs in the pod of a Redis and applies there what its RedisCluster, its projected Secrets and its certificates say: ' +
  'live, proven, and without a restart. What Redis takes only at its start is tried out, kept for that start, ' +
  'and named in the status. As parent it starts redis-server and finds it again after its own death; as sidecar it works ' +
  'beside a Redis that somebody else starts.';

const AGENT_EXAMPLES = [
  ['attune agent redis', 'In a pod that has CLUSTER_NAME, POD_NAME and POD_NAMESPACE as variables.'],
  [
    'attune agent redis --mode=sidecar --socket=/run/redis/redis.sock',
    'Beside the Redis of any StatefulSet; without a socket by --redis-address.',
  ],
  ['attune agent redis --compat=strict', 'As the instance reconciler of redis-operator does it.'],
  ['attune redis status', 'What the agents say of themselves.'],
] as const;

/** What `attune controller --help` says: every option, by group. */
export const controllerHelp = (layout: Layout): string =>
  helpOf(layout, {
    purpose: PURPOSE,
    usage: ['attune [controller] [flags]', 'attune controller --help, -h'],
    table: CONTROLLER_OPTIONS,
    groups: GROUPS,
    examples: EXAMPLES,
  });

/** What `attune admission --help` says. Of the controller's other options it reads those that say what is asked for. */
export const admissionHelp = (layout: Layout): string =>
  helpOf(layout, {
    purpose: ADMISSION_PURPOSE,
    usage: ['attune admission [flags of the controller]', 'attune admission install | uninstall | status [flags]'],
    table: CONTROLLER_OPTIONS,
    groups: { admission: GROUPS.admission, scope: GROUPS.scope, keys: GROUPS.keys, process: GROUPS.process },
    examples: ADMISSION_EXAMPLES,
  });

/** What `attune agent redis --help` says. */
export const redisAgentHelp = (layout: Layout): string =>
  helpOf(layout, {
    purpose: AGENT_PURPOSE,
    usage: ['attune agent redis [flags]', 'attune agent redis --help, -h'],
    table: AGENT_OPTIONS,
    groups: AGENT_GROUPS,
    examples: AGENT_EXAMPLES,
  });

interface Help {
  readonly purpose: string;
  readonly usage: readonly string[];
  readonly table: OptionTable;
  /** The title of each group that is shown, in this order. */
  readonly groups: Readonly<Record<string, string>>;
  readonly examples: readonly (readonly [command: string, says: string])[];
}

function helpOf(layout: Layout, { purpose, usage, table, groups, examples }: Help): string {
  const paint = painter(layout);
  const rows = rowsOf(table).map(([, option]) => option);
  const sections = Object.entries(groups).map(([group, title]) => {
    const listed = rows.filter((option) => option.group === group);
    return `${paint('bold', title)}\n${listed.map((option) => row(option, layout, paint)).join('')}`;
  });
  const shown = examples.map(([command, says]) => `  ${paint('cyan', command)}\n${indented(says, layout)}`);
  return [
    indented(purpose, layout, 0),
    `${paint('bold', 'Usage')}\n${usage.map((line) => `  ${line.replace(/--?\w+/g, (flag) => paint('cyan', flag))}\n`).join('')}`,
    ...sections,
    `${paint('bold', 'Examples')}\n${shown.join('')}`,
  ].join('\n');
}

function row({ flag, env, type, fallback, doc }: Option<unknown>, layout: Layout, paint: Paint): string {
  const names = [
    flag === undefined ? undefined : `${paint('cyan', `--${flag}`)}${type === 'bool' ? '' : ` ${type}`}`,
    env === undefined ? undefined : `${flag === undefined ? '' : 'or '}${paint('cyan', env)}`,
  ].filter((each) => each !== undefined);
  const standard = fallback === '' || fallback === 'false' ? '' : ` Default: ${fallback}.`;
  return `  ${names.join(' ')}\n${indented(`${doc}${standard}`, layout)}`;
}

const indented = (text: string, { width }: Layout, indent = 6): string =>
  wrapped(text, width - indent)
    .map((line) => `${' '.repeat(indent)}${line}\n`)
    .join('');
