import type { Layout } from '../terminal/layout.ts';
import { type Paint, table, widthOf } from '../terminal/table.ts';
import type { PhaseReport, PodReport } from './cluster-report.ts';

interface Column {
  readonly title: string;
  readonly cell: (pod: PodReport, paint: Paint) => string;
}

const ROLES: Readonly<Record<string, string>> = { master: 'primary', slave: 'replica' };

const COLUMNS: readonly Column[] = [
  { title: 'pod', cell: ({ name }) => name },
  { title: 'role', cell: ({ role }) => ROLES[role] ?? (role || '-') },
  { title: 'link', cell: link },
  { title: 'offset', cell: ({ offset }) => shown(offset) },
  { title: 'behind', cell: ({ lag }) => lagText(lag) },
  { title: 'keys', cell: ({ keys }) => shown(keys) },
  { title: 'state', cell: stateWord },
  { title: 'config', cell: configWords },
  { title: 'password', cell: ({ credentials }, paint) => phaseWord(credentials, paint) },
  { title: 'tls', cell: ({ tls }, paint) => phaseWord(tls, paint) },
];

/** What a narrow page does without, the least missed first; what is wrong with the last three is told below the table. */
const SPARED = ['offset', 'behind', 'keys', 'tls', 'password', 'link'];

/** The pods as a table, with as many columns as fit; where not even the fewest do, a block per pod. */
export function podTable(pods: readonly PodReport[], page: Layout, paint: Paint): string {
  for (let spared = 0; spared <= SPARED.length; spared++) {
    const columns = COLUMNS.filter(({ title }) => !SPARED.slice(0, spared).includes(title));
    const rows = [
      columns.map(({ title }) => paint('bold', title.toUpperCase())),
      ...pods.map((pod) => columns.map((column) => cellOf(column, pod, paint))),
    ];
    if (widthOf(rows) <= page.width) return table(rows.map(withoutWrapping), page);
  }
  return pods.map((pod) => podBlock(pod, page, paint)).join('\n');
}

/** The last, empty column wraps, so that no other does. */
const withoutWrapping = (row: readonly string[]): readonly string[] => [...row, ''];

function podBlock(pod: PodReport, page: Layout, paint: Paint): string {
  const rows = COLUMNS.slice(1).map((column) => [column.title, cellOf(column, pod, paint)]);
  const told = rows.filter(([, cell]) => cell !== '-');
  return `${paint('bold', pod.name)}\n${table(told, page, 2)}`;
}

function cellOf({ title, cell }: Column, pod: PodReport, paint: Paint): string {
  if (pod.hasReported || title === 'pod') return cell(pod, paint);
  return title === 'state' ? paint('red', 'has not reported') : '-';
}

function link({ role, link: status, replicas }: PodReport, paint: Paint): string {
  if (role === 'master') return replicas === 1 ? '1 replica' : `${replicas ?? 0} replicas`;
  if (status === '') return '-';
  return paint(status === 'up' ? 'green' : 'red', status);
}

function stateWord({ state, connected, exists, isFenced, isBehind }: PodReport, paint: Paint): string {
  if (exists === false) return paint('dim', 'gone');
  const word = state || (connected ? 'Running' : isFenced ? 'Fenced' : 'not connected');
  const colour = word === 'Running' ? 'green' : word === 'Starting' || word === 'Fenced' ? 'yellow' : 'red';
  return `${paint(colour, word)}${isBehind ? paint('yellow', ' (behind)') : ''}`;
}

function configWords({ applied, refused, restart }: PodReport, paint: Paint): string {
  const words = [`${applied} applied`];
  if (refused.length > 0) words.push(paint('red', `${refused.length} refused`));
  if (restart.length > 0) words.push(paint('yellow', `${restart.length} at restart`));
  return words.join(', ');
}

function phaseWord(report: PhaseReport | undefined, paint: Paint): string {
  if (!report) return '-';
  if (report.state === 'Refused') return paint('red', 'Refused');
  const word = report.phase || report.state;
  if (word === '') return '-';
  return word === 'Settled' || word === 'Applied' ? word : paint('yellow', word);
}

export const shown = (value: number | undefined): string => (value === undefined ? '-' : `${value}`);

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];

function lagText(bytes: number | undefined): string {
  if (bytes === undefined) return '-';
  const power = Math.min(UNITS.length - 1, bytes < 1000 ? 0 : Math.floor(Math.log10(bytes) / 3));
  return `${power === 0 ? bytes : (bytes / 1000 ** power).toFixed(1)} ${UNITS[power]}`;
}
