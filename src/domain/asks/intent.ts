import { type AnnotationKeys, MAX_WAIT, ON_CHANGE, QUIET_PERIOD, ROLLOUT_STRATEGY } from '../../api/annotations.ts';
import type { KindName } from '../../api/kinds.ts';
import type { SourceKind } from '../../api/sources.ts';
import { parseDuration } from '../text/duration.ts';
import { parseBool } from '../text/parse-bool.ts';
import { namePattern } from './name-pattern.ts';

export type Annotations = Readonly<Record<string, string>>;

/** One element of a named list. */
export interface NamePattern {
  /** As written, without surrounding blanks. */
  readonly text: string;
  /** Whether a name matches; undefined: the text does not compile. */
  readonly matches: ((name: string) => boolean) | undefined;
  /** Set when the pattern is a plain name, so that a reverse index can find it without trying. */
  readonly literal: string | undefined;
  /** What is wrong with a text that does not compile. */
  readonly error: string | undefined;
}

/** What a workload asked for regarding one kind of source. The annotation's own text is kept for `explain`. */
export interface KindIntent {
  /** Where the four keys were read: all from one place. */
  readonly from: 'metadata' | 'template';
  /** The named list as written, '' if missing, and its elements; empty elements are left out. */
  readonly namedText: string;
  readonly named: readonly NamePattern[];
  readonly search: boolean;
  /** Text of the auto annotations, '' if missing. */
  readonly auto: string;
  readonly typedAuto: string;
  readonly excluded: readonly string[];
}

export interface Problem {
  readonly path: string;
  readonly message: string;
  /** Set where going on would do what nobody asked for: no reload until it is mended. */
  readonly blocks?: true;
  /** Nobody reads it, or not as it was most likely meant; what is asked for is clear all the same. */
  readonly isSlip?: true;
}

export interface Intent {
  readonly of: Readonly<Record<SourceKind, KindIntent>>;
  /** Milliseconds, where the workload sets its own; undefined = the flag's. */
  readonly quietPeriodMs: number | undefined;
  readonly maxWaitMs: number | undefined;
  /** Deployment only. */
  readonly pausePeriodMs: number | undefined;
  readonly rolloutStrategy: 'rollout' | 'restart';
  /** CronJob and Job; undefined = the default of the mode. */
  readonly onChange: 'run' | 'template' | 'ignore' | undefined;
  /** What could not be understood, with the annotation as path and what was expected. */
  readonly problems: readonly Problem[];
}

/** What the annotations of a workload and of its pod template ask for. Takes any text; never throws. */
export function parseIntent(
  kind: KindName,
  metadata: Annotations,
  template: Annotations,
  keys: AnnotationKeys,
): Intent {
  const problems: Problem[] = [];
  const of = (source: SourceKind): KindIntent => parseKindIntent(source, metadata, template, { keys, problems });
  const own: OwnReader = { kind, metadata, problems };
  return {
    of: { ConfigMap: of('ConfigMap'), Secret: of('Secret'), SecretProviderClass: of('SecretProviderClass') },
    quietPeriodMs: readPeriod(own, QUIET_PERIOD),
    maxWaitMs: readPeriod(own, MAX_WAIT),
    pausePeriodMs: readPausePeriod(own, keys.pausePeriod),
    rolloutStrategy: readRolloutStrategy(own),
    onChange: readOnChange(own),
    problems: distinct(problems),
  };
}

function parseKindIntent(
  source: SourceKind,
  metadata: Annotations,
  template: Annotations,
  { keys, problems }: { readonly keys: AnnotationKeys; readonly problems: Problem[] },
): KindIntent {
  const named = keys.named[source];
  const typedAuto = keys.typedAuto[source];
  // Stakater: all four from metadata if one of them is there, even empty; else all four from the pod template.
  const inMetadata = [named, keys.auto, typedAuto, keys.search].some((key) => Object.hasOwn(metadata, key));
  const annotations = inMetadata ? metadata : template;
  const read = (key: string): string => (Object.hasOwn(annotations, key) ? (annotations[key] ?? '') : '');

  for (const key of [keys.auto, typedAuto]) checkBool(key, read(key), problems);
  const search = read(keys.search);
  if (search !== 'true' && parseBool(search) !== false && search !== '') {
    problems.push({ path: keys.search, message: `only the exact text "true" counts, not ${quote(search)}` });
  }
  return {
    from: inMetadata ? 'metadata' : 'template',
    namedText: read(named),
    named: parseNames(named, read(named), problems),
    search: search === 'true',
    auto: read(keys.auto),
    typedAuto: read(typedAuto),
    excluded: elements(metadata[keys.exclude[source]] ?? ''),
  };
}

function parseNames(key: string, text: string, problems: Problem[]): readonly NamePattern[] {
  const patterns = elements(text).map(namePattern);
  for (const pattern of patterns) {
    if (pattern.error !== undefined) {
      problems.push({ path: key, message: `${quote(pattern.text)} is no RE2 regular expression: ${pattern.error}` });
    }
  }
  return patterns;
}

/** Of a list: without blanks, and without those that are empty. */
export function elements(text: string): readonly string[] {
  if (text === '') return [];
  return text.split(',').flatMap((element) => element.trim() || []);
}

function checkBool(key: string, text: string, problems: Problem[]): void {
  if (text !== '' && parseBool(text) === undefined) {
    problems.push({ path: key, message: `must be "true" or "false", not ${quote(text)}` });
  }
}

/** What is read from the workload's own metadata only. */
interface OwnReader {
  readonly kind: KindName;
  readonly metadata: Annotations;
  readonly problems: Problem[];
}

function readPeriod({ metadata, problems }: OwnReader, key: string): number | undefined {
  const text = metadata[key];
  if (text === undefined) return undefined;
  const period = parseDuration(text);
  if (period !== undefined && period >= 0) return period;
  problems.push({ path: key, message: `must be a duration like 90s or 1h30m, not ${quote(text)}` });
  return undefined;
}

function readPausePeriod({ kind, metadata, problems }: OwnReader, key: string): number | undefined {
  const text = metadata[key];
  if (text === undefined) return undefined;
  if (kind !== 'Deployment') {
    problems.push({ path: key, message: `has no effect on a ${kind}: only a Deployment can be paused` });
    return undefined;
  }
  const period = parseDuration(text);
  if (period === undefined) {
    // Whoever asked for a pause must not get a rollout without one.
    problems.push({ path: key, message: `must be a duration like 5m or 1h30m, not ${quote(text)}`, blocks: true });
  }
  return period;
}

function readRolloutStrategy({ kind, metadata, problems }: OwnReader): 'rollout' | 'restart' {
  const text = metadata[ROLLOUT_STRATEGY];
  if (kind !== 'Rollout' || text === undefined || text === 'rollout') return 'rollout';
  if (text === 'restart') return 'restart';
  problems.push({ path: ROLLOUT_STRATEGY, message: `must be "rollout" or "restart", not ${quote(text)}` });
  return 'rollout';
}

function readOnChange({ kind, metadata, problems }: OwnReader): Intent['onChange'] {
  const text = metadata[ON_CHANGE];
  if (text === undefined) return undefined;
  if (kind !== 'CronJob' && kind !== 'Job') {
    problems.push({ path: ON_CHANGE, message: `has no effect on a ${kind}: only on CronJob and Job` });
    return undefined;
  }
  if (text === 'run' || text === 'ignore') return text;
  if (text === 'template' && kind === 'CronJob') return text;
  const expected = kind === 'CronJob' ? '"run", "template" or "ignore"' : '"run" or "ignore" on a Job';
  problems.push({ path: ON_CHANGE, message: `must be ${expected}, not ${quote(text)}` });
  return undefined;
}

/** The auto and search keys are read once per kind of source; said once is enough. */
function distinct(problems: readonly Problem[]): readonly Problem[] {
  return [...new Map(problems.map((problem) => [`${problem.path} ${problem.message}`, problem])).values()];
}

/** A value as shown to people: an annotation can be a quarter of a megabyte. */
export function quote(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 77)}...` : text);
}
