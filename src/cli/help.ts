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

/** What `attune controller --help` says: every option, by group. */
export function controllerHelp(layout: Layout): string {
  const paint = painter(layout);
  const rows = rowsOf(CONTROLLER_OPTIONS).map(([, option]) => option);
  const groups = (Object.keys(GROUPS) as Group[]).map((group) => {
    const listed = rows.filter((option) => option.group === group);
    return `${paint('bold', GROUPS[group])}\n${listed.map((option) => row(option, layout, paint)).join('')}`;
  });
  const shown = EXAMPLES.map(([command, says]) => `  ${paint('cyan', command)}\n${indented(says, layout)}`);
  const help = `attune controller ${paint('cyan', '--help')}, ${paint('cyan', '-h')}`;
  return [
    indented(PURPOSE, layout, 0),
    `${paint('bold', 'Usage')}\n  attune [controller] [flags]\n  ${help}\n`,
    ...groups,
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
