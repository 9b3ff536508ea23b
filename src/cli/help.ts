import { GROUPS, type Group, type Option } from '../config/option.ts';
import { OPTION_ROWS } from '../config/options.ts';
import type { Environment } from '../config/parse-settings.ts';

/** What a page of text has to fit. */
export interface Page {
  readonly width: number;
  readonly colour: boolean;
}

const WIDTH = { least: 40, usual: 100, most: 120 };
const INDENT = 6;

/** Colour is for people: never into a pipe, and never against NO_COLOR. */
export function pageFor(stream: { readonly isTTY?: boolean; readonly columns?: number }, env: Environment): Page {
  const width = Math.min(WIDTH.most, Math.max(WIDTH.least, stream.columns ?? WIDTH.usual));
  return { width, colour: stream.isTTY === true && !env['NO_COLOR'] && env['TERM'] !== 'dumb' };
}

const PURPOSE = 'Brings a changed ConfigMap or Secret to every workload that asked for it: once, in order, never lost.';

const EXAMPLES: readonly (readonly [string, string])[] = [
  ['attune controller', 'Everything in all namespaces, by the annotations on the workloads.'],
  [
    'attune controller --auto-reload-all --namespaces-to-ignore=kube-system',
    'No annotations needed, except to opt out.',
  ],
  ['attune controller --namespaces=shop,blog --reload-strategy=annotations', 'Two namespaces, with Roles only.'],
  ['attune controller --compat=stakater', 'As Stakater Reloader v1 does it.'],
];

/** `attune controller --help`: every option from the table, by group. */
export function controllerHelp(page: Page): string {
  const paint = page.colour ? (code: number, text: string) => `\x1b[${code}m${text}\x1b[0m` : plain;
  const title = (text: string): string => paint(1, text);
  const groups = (Object.keys(GROUPS) as Group[]).map((group) => {
    const rows = OPTION_ROWS.map(([, option]) => option).filter((option) => option.group === group);
    return `${title(GROUPS[group])}\n${rows.map((option) => row(option, page, paint)).join('')}`;
  });
  const examples = EXAMPLES.map(([command, says]) => `  ${paint(36, command)}\n${wrap(says, page.width)}`);
  return [
    wrap(PURPOSE, page.width, 0),
    `${title('Usage')}\n  attune [controller] [flags]\n  attune controller ${paint(36, '--help')}, ${paint(36, '-h')}\n`,
    ...groups,
    `${title('Examples')}\n${examples.join('')}`,
  ].join('\n');
}

const plain = (_: number, text: string): string => text;

function row(option: Option<unknown>, { width }: Page, paint: (code: number, text: string) => string): string {
  const { flag, env, type, fallback, doc } = option;
  const names = [
    flag === undefined ? undefined : `${paint(36, `--${flag}`)}${type === 'bool' ? '' : ` ${type}`}`,
    env === undefined ? undefined : `${flag === undefined ? '' : 'or '}${paint(36, env)}`,
  ].filter((name) => name !== undefined);
  const standard = fallback === '' || fallback === 'false' ? '' : ` Default: ${fallback}.`;
  return `  ${names.join(' ')}\n${wrap(`${doc}${standard}`, width)}`;
}

/** Breaks at spaces; a word longer than the page stays whole, so that it can be copied. */
function wrap(text: string, width: number, indent: number = INDENT): string {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? '';
    if (line !== '' && indent + line.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines.map((line) => `${' '.repeat(indent)}${line}\n`).join('');
}
