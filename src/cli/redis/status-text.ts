import { FENCED_INSTANCES } from '../../api/redis-cluster/annotations.ts';
import type { Layout } from '../terminal/layout.ts';
import { type Paint, painter, span, table } from '../terminal/table.ts';
import { type ClusterReport, type KeyReport, type PhaseReport, type PodReport, wrongWith } from './cluster-report.ts';
import { podTable, shown } from './pod-table.ts';

type Rows = readonly (readonly string[])[];

/** A RedisCluster for people: what it is, its pods as a table, and below what is wrong or waits, and why. */
export function clusterText(report: ClusterReport, page: Layout, nowMs: number): string {
  const paint = painter(page);
  const title = paint('bold', `RedisCluster ${report.namespace}/${report.name}`);
  const blocks = [`${title}\n${table(facts(report, paint), page, 2)}`];
  if (report.pods.length === 0) blocks.push('No pod has reported yet: the agent in each pod does so when it runs.\n');
  else blocks.push(podTable(report.pods, page, paint));
  return [...blocks, ...details(report, page, paint, nowMs)].join('\n');
}

/** Several RedisClusters, a line each. */
export function clusterList(reports: readonly ClusterReport[], page: Layout): string {
  const paint = painter(page);
  const rows = reports.map(({ name, mode, primary, pods, problems }) => {
    const wrong = [
      ...problems.map(({ where }) => `${where} is wrong`),
      ...pods.flatMap((pod) => wrongWith(pod).map((word) => `${pod.name}: ${word}`)),
    ];
    const waiting = pods.reduce((sum, pod) => sum + pod.restart.length, 0);
    const keys = pods.find(({ isPrimary }) => isPrimary)?.keys;
    const said = wrong.length > 0 ? paint('red', wrong.join(', ')) : paint('green', 'fine');
    const restart = waiting > 0 ? `; ${waiting} wait for a restart` : '';
    return [name, mode, primary || '-', `${pods.length}`, shown(keys), `${said}${restart}`];
  });
  return table([heading(paint, 'name', 'mode', 'primary', 'pods', 'keys', 'state'), ...rows], page);
}

function facts({ mode, primary, replicaMode, fenced, problems }: ClusterReport, paint: Paint): Rows {
  const rows = [
    ['mode', mode],
    ['primary', primary || paint('yellow', 'nobody has said who it is (status.currentPrimary): roles are left alone')],
  ];
  if (replicaMode) {
    const { from, promote } = replicaMode;
    rows.push(['replica of', `${from}${promote ? paint('yellow', '; promotion is asked for') : ''}`]);
  }
  if (!fenced) {
    const text = `${FENCED_INSTANCES} is no JSON array of pod names: what was decided before it stays`;
    rows.push(['fenced', paint('red', text)]);
  } else if (fenced.length > 0) {
    rows.push(['fenced', paint('yellow', fenced.join(', '))]);
  }
  for (const { where, what } of problems) rows.push(['wrong', paint('red', `${where} ${what}`)]);
  return rows;
}

const heading = (paint: Paint, ...words: readonly string[]) => words.map((word) => paint('bold', word.toUpperCase()));

/** What is wrong or waits; pods that say the same are told together. */
function details({ pods, problems }: ClusterReport, page: Layout, paint: Paint, nowMs: number): readonly string[] {
  const blocks = new Map<string, string[]>();
  for (const pod of pods) {
    const text = table(detailRows({ ...pod, message: untold(pod, problems) }, paint, nowMs), page, 2);
    if (text !== '') blocks.set(text, [...(blocks.get(text) ?? []), pod.name]);
  }
  return Array.from(blocks, ([text, names]) => `${paint('bold', names.join(', '))}\n${text}`);
}

/** What of a pod's message no other row says; its agent joins all problems to one text. */
function untold({ message, credentials, acl, tls }: PodReport, problems: ClusterReport['problems']): string {
  const told = new Set(
    [
      ...problems.map(({ where, what }) => `${where}: ${what}`),
      credentials?.message,
      acl?.message,
      tls?.message,
    ].flatMap((text) => text?.split('; ') ?? []),
  );
  // `where: what` is `where what` in the message of certificates.
  const isTold = (part: string): boolean => told.has(part) || told.has(part.replace(': ', ' '));
  return message
    .split('; ')
    .filter((part) => !isTold(part))
    .join('; ');
}

function detailRows(pod: PodReport, paint: Paint, nowMs: number): Rows {
  if (pod.exists === false) return goneRows(pod, paint);
  const { message, isBehind, refused, restart, credentials, acl, tls } = pod;
  const rows: (readonly string[])[] = [];
  if (message !== '') rows.push(['state', paint(pod.state === 'Degraded' ? 'red' : 'yellow', message)]);
  if (isBehind) rows.push(['behind', 'it has not answered the newest version of the RedisCluster yet']);
  if (pod.link === 'down') rows.push(['link', `${paint('red', 'down')}: nothing comes from its primary`]);
  for (const key of refused) rows.push(['refused', `${paint('red', assignment(key))}: ${key.message}${stays(key)}`]);
  for (const key of restart) rows.push(['restart', `${paint('yellow', assignment(key))}: ${whyRestart(key)}`]);
  rows.push(...phaseRows('password', credentials, paint, nowMs), ...phaseRows('ACL', acl, paint, nowMs));
  return [...rows, ...phaseRows('TLS', tls, paint, nowMs), ...expiryRows(pod, paint, nowMs)];
}

function goneRows({ isPrimary }: PodReport, paint: Paint): Rows {
  const entry = 'there is no such pod: its entry is old, and is left until somebody removes it';
  return [['gone', isPrimary ? paint('red', `${entry}; and it is named as primary`) : entry]];
}

const assignment = ({ key, wanted }: KeyReport): string => (wanted === '' ? key : `${key} ${wanted}`);
const stays = ({ value }: KeyReport): string => (value === '' ? '' : `; it stays ${value}`);
const whyRestart = ({ message }: KeyReport): string => message || 'Redis takes it only at its start';

/** Nothing, unless it is refused, or is under way. */
function phaseRows(name: string, report: PhaseReport | undefined, paint: Paint, nowMs: number): Rows {
  if (!report || report.message === '') return [];
  const { state, phase, since, message } = report;
  const begun = Date.parse(since);
  const word = state === 'Refused' ? paint('red', state) : phase || state;
  const when = Number.isNaN(begun) || state === 'Refused' ? '' : ` for ${span(nowMs - begun)}`;
  return [[name, `${word === '' ? '' : `${word}${when}: `}${message}`]];
}

const SOON_MS = 7 * 86_400_000;

function expiryRows({ tls }: PodReport, paint: Paint, nowMs: number): Rows {
  const leftMs = Date.parse(tls?.notAfter ?? '') - nowMs;
  if (Number.isNaN(leftMs) || leftMs > SOON_MS) return [];
  const text = leftMs > 0 ? `expires in ${span(leftMs)}` : `expired ${span(leftMs)} ago`;
  return [['certificate', paint(leftMs > 0 ? 'yellow' : 'red', text)]];
}
