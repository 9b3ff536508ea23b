import { CONTROLLER_OPTIONS } from '../config/options/controller.ts';
import { GROUPS, type Group, type Option } from '../config/options/option.ts';
import { rowsOf } from '../config/options/option-table.ts';
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
  ['attune admission install', 'Register it by its Service; -o yaml prints the manifest instead.'],
  ['attune admission --admission-url=https://10.0.0.5:9443', 'Serve outside the cluster.'],
  ['attune admission status', 'Whether it is registered, reachable, and until when its certificate is valid.'],
  ['attune admission uninstall', 'Take the registration away; every write passes as before.'],
] as const;

/** What `attune controller --help` says: every option, by group. */
export const controllerHelp = (layout: Layout): string =>
  helpOf(layout, {
    purpose: PURPOSE,
    usage: ['attune [controller] [flags]', 'attune controller --help, -h'],
    groups: Object.keys(GROUPS) as Group[],
    examples: EXAMPLES,
  });

/** What `attune admission --help` says. Of the controller's other options it reads those that say what is asked for. */
export const admissionHelp = (layout: Layout): string =>
  helpOf(layout, {
    purpose: ADMISSION_PURPOSE,
    usage: ['attune admission [flags of the controller]', 'attune admission install | uninstall | status [flags]'],
    groups: ['admission', 'scope', 'keys', 'process'],
    examples: ADMISSION_EXAMPLES,
  });

interface Help {
  readonly purpose: string;
  readonly usage: readonly string[];
  readonly groups: readonly Group[];
  readonly examples: readonly (readonly [command: string, says: string])[];
}

function helpOf(layout: Layout, { purpose, usage, groups, examples }: Help): string {
  const paint = painter(layout);
  const rows = rowsOf(CONTROLLER_OPTIONS).map(([, option]) => option);
  const sections = groups.map((group) => {
    const listed = rows.filter((option) => option.group === group);
    return `${paint('bold', GROUPS[group])}\n${listed.map((option) => row(option, layout, paint)).join('')}`;
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
