import type { PauseStep } from '../../domain/plan/pause.ts';
import type { Timing } from '../../domain/plan/timing.ts';
import type { WorkloadRef } from '../../domain/workload/workload.ts';
import type { Layout } from '../terminal/layout.ts';
import { type Paint, painter, span, table } from '../terminal/table.ts';
import type { Consequence } from './answer.ts';
import type { Explanation, Mark } from './explanation.ts';
import { type Cooldown, configText, type NamingConfig } from './naming-configs.ts';
import type { ReloaderEvent } from './reloader-events.ts';
import { stateText } from './state-text.ts';

/** All that `explain` knows; `-o json` prints it as it is. */
export interface WorkloadReport {
  readonly workload: WorkloadRef;
  readonly judgedBy: string;
  /** `default`, or whose program is followed word for word: `stakater`, `sap`, or both with a comma. */
  readonly mode: string;
  readonly strategy: 'env-vars' | 'annotations';
  readonly timing: Timing;
  /** RFC 3339. */
  readonly lastWrite: string | undefined;
  /** Whether what Attune wrote down can be read; if not, nobody can tell here what waits. */
  readonly isLedgerKnown: boolean;
  /** ReloaderConfigs that name it, the one that decides first. */
  readonly configs: readonly NamingConfig[];
  readonly cooldown: Cooldown | undefined;
  /** Its pods are being evicted, one after the other; RFC 3339. */
  readonly restart: { readonly pods: number; readonly since: string } | undefined;
  readonly paused: { readonly byReloader: boolean; readonly step: PauseStep } | undefined;
  /** Annotations that could not be understood. */
  readonly problems: readonly string[];
  readonly notes: readonly string[];
  readonly sources: readonly Explanation[];
  readonly events: readonly ReloaderEvent[];
}

export function explanationText(report: WorkloadReport, page: Layout, nowMs: number): string {
  const paint = painter(page);
  const { kind, namespace, name } = report.workload;
  const blocks = [
    `${paint('bold', `${kind} ${namespace}/${name}`)}\n${table(facts(report, paint, nowMs), page, 2)}`,
    ...report.sources.map((each) => sourceText(each, report, page, nowMs)),
  ];
  if (report.sources.length === 0) blocks.push('It uses no ConfigMap or Secret, and names none.\n');
  if (report.events.length > 0) blocks.push(eventsText(report.events, page, nowMs));
  return blocks.join('\n');
}

function facts(report: WorkloadReport, paint: Paint, nowMs: number): readonly (readonly string[])[] {
  const { timing, lastWrite, configs, cooldown, restart, paused, problems, notes } = report;
  const rows = [
    ['judged by', report.judgedBy + modeText(report.mode)],
    ['timing', timingText(timing)],
    ['last write', lastWrite ? `${ago(lastWrite, nowMs)} (${lastWrite})` : 'never by a reloader'],
  ];
  for (const config of configs) rows.push(['asked by', askedBy(config, paint)]);
  if (cooldown) rows.push(['cooldown', cooldownText(cooldown, paint, nowMs)]);
  if (restart) {
    const { pods, since } = restart;
    rows.push(['restart', paint('yellow', `${pods} pods are evicted one after the other, begun ${ago(since, nowMs)}`)]);
  }
  if (paused) rows.push(['paused', paint('yellow', pauseText(paused, nowMs))]);
  for (const problem of problems) rows.push(['wrong', paint('red', problem)]);
  for (const note of notes) rows.push(['note', paint('dim', note)]);
  return rows;
}

const PROGRAMS: Readonly<Record<string, string>> = { stakater: 'Stakater Reloader', sap: 'SAP pod-reloader' };

function modeText(mode: string): string {
  const programs = mode.split(',').flatMap((word) => PROGRAMS[word] ?? []);
  return programs.length === 0 ? '' : ` (compatible with ${programs.join(' and ')})`;
}

function timingText({ quietPeriodMs, maxWaitMs }: Timing): string {
  const [quiet, most] = [`${quietPeriodMs / 1000} s`, `${maxWaitMs / 1000} s`];
  if (quietPeriodMs === 0 || maxWaitMs === 0) return 'at once';
  if (maxWaitMs <= quietPeriodMs) return `${most} after the first change: max-wait ends the quiet period of ${quiet}`;
  return `${quiet} after the last change, ${most} after the first at the latest`;
}

function pauseText({ byReloader, step }: NonNullable<WorkloadReport['paused']>, nowMs: number): string {
  if (!byReloader) return 'by somebody else: nothing rolls before it is resumed';
  if (step.do === 'hold') return `by a reloader, for ${span(step.untilMs - nowMs)} more; then everything rolls at once`;
  return 'by a reloader, and the time is over: it is resumed as soon as Attune runs';
}

const askedBy = (config: NamingConfig, paint: Paint): string =>
  config.ignoredBecause === undefined
    ? configText(config)
    : paint('yellow', `${configText(config)} does not count: ${config.ignoredBecause}`);

function cooldownText({ periodMs, by, until }: Cooldown, paint: Paint, nowMs: number): string {
  const left = until === undefined ? 0 : Date.parse(until) - nowMs;
  const now = left > 0 ? paint('yellow', `the next one in ${span(left)} at the earliest`) : 'the next one may come now';
  return `${span(periodMs)} between two reloads, by ${by}; ${now}`;
}

const ago = (time: string, nowMs: number): string => `${span(nowMs - Date.parse(time))} ago`;

function sourceText(explanation: Explanation, report: WorkloadReport, page: Layout, nowMs: number): string {
  const paint = painter(page);
  const { source, rolls, action, because, rule, cures, mark, state, presence } = explanation;
  const sign = rolls ? paint('green', '✓') : paint('red', '✗');
  const where = source.namespace === report.workload.namespace ? '' : `${source.namespace}/`;
  const title = paint('bold', `${source.kind} ${where}${source.name}`);
  const rows = [['because', rule]];
  for (const cure of cures) rows.push(['to roll', paint('cyan', cure)]);
  if (mark && (rolls || mark.found !== 'missing')) rows.push(['mark', markText(mark)]);
  for (const note of presenceNotes(presence)) rows.push(['note', paint('yellow', note)]);
  const now = presence === 'unreadable' ? undefined : stateText(state, { ...report, paint, nowMs });
  if (now !== undefined && (rolls || state.is !== 'current')) rows.push(['now', now]);
  if (rolls) rows.push(['or if', lifecycleText(explanation)]);
  const answer = rolls ? ACTIONS[action ?? 'patch'] : 'a change does not roll it';
  return `${sign} ${title}: ${answer} (${because})\n${table(rows, page, 4)}`;
}

function lifecycleText({ ifCreated, ifDeleted }: Explanation): string {
  const said = ({ rolls, rule }: Consequence): string => `${rolls ? 'the same' : 'nothing happens'} (${rule})`;
  return `it is created: ${said(ifCreated)}; it is deleted: ${said(ifDeleted)}`;
}

const UNREADABLE =
  'you may not read it, so its annotations and its data are not known here: taken as neither ignored nor matched';

/** What is to be said about a source that was not found or not seen. */
export function presenceNotes(presence: Explanation['presence']): readonly string[] {
  if (presence === 'present') return [];
  return [presence === 'absent' ? 'it does not exist' : UNREADABLE];
}

const ACTIONS = {
  patch: 'a change rolls it',
  restart: 'a change restarts it',
  evict: 'a change replaces its pods, one after the other',
  run: 'a change runs a Job of it',
  replace: 'a change replaces it',
  none: 'a change does nothing',
} as const;

const MARKS: Readonly<Record<Mark['found'], string>> = {
  current: 'is there, of the current data',
  other: 'is there, of other data',
  missing: 'is not there yet',
  shared: 'is shared with another source, so it proves nothing',
  unknown: 'is there',
};

const markText = ({ place, container, found }: Mark): string =>
  `${place} ${container === undefined ? 'in the pod template' : `for container ${container}`} ${MARKS[found]}`;

function eventsText(events: readonly ReloaderEvent[], page: Layout, nowMs: number): string {
  const paint = painter(page);
  const rows = events.map(({ at, type, reason, message }) => [
    ago(at, nowMs),
    type === 'Warning' ? paint('yellow', reason) : reason,
    message,
  ]);
  return `${paint('bold', 'Events')}\n${table(rows, page, 2)}`;
}
