import { visible } from '../runtime/visible.ts';

/** Scalars only: an object cannot be logged, hence neither can a Secret. */
export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;

export type Log = Readonly<Record<'debug' | 'info' | 'warn' | 'error', (message: string, fields?: LogFields) => void>>;

export interface LogSettings {
  /** '' is text. */
  readonly format: string;
  readonly level: string;
  /** Takes one line, its end included. */
  readonly write: (line: string) => void;
  readonly now: () => number;
}

/** Names of logrus, the least urgent first. */
const LEVELS = ['trace', 'debug', 'info', 'warning', 'error', 'fatal', 'panic'] as const;
type Level = (typeof LEVELS)[number];

/**
 * A log whose lines look like those of logrus, because pipelines exist that parse them.
 *
 * As upstream, an unknown format is only warned about, but then the level is not applied either.
 */
export function createLog(settings: LogSettings): Log {
  const known = settings.format === '' || settings.format === 'json';
  const wanted = known ? levelNamed(settings.level) : 'info';
  const threshold = LEVELS.indexOf(wanted ?? 'info');
  const format = settings.format === 'json' ? toJson : toText;
  const at =
    (level: Level) =>
    (msg: string, fields: LogFields = {}): void =>
      settings.write(format({ time: timestamp(settings.now()), level, msg }, sorted(fields)));
  // A level that is off costs one empty call: nothing is put together.
  const pick = (level: Level) => (LEVELS.indexOf(level) < threshold ? silent : at(level));
  const log = { debug: pick('debug'), info: pick('info'), warn: pick('warning'), error: pick('error') };
  if (!known) log.warn('unknown log format, text is written and the level stays info', { format: settings.format });
  else if (!wanted) log.warn('unknown log level, it stays info', { level: settings.level });
  return log;
}

function silent(): void {}

/** logrus takes both spellings of "warning" and does not mind capitals. */
function levelNamed(name: string): Level | undefined {
  const lower = name.toLowerCase();
  return lower === 'warn' ? 'warning' : LEVELS.find((level) => level === lower);
}

/** RFC 3339 with seconds. */
const timestamp = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');

type Entry = readonly [string, LogFields[string]];

/** What every line has. */
type Header = Readonly<Record<'time' | 'level' | 'msg', string>>;

const toText = (header: Header, fields: readonly Entry[]): string =>
  `${[...Object.entries(header), ...fields].map(([key, value]) => `${key}=${quoted(String(value))}`).join(' ')}\n`;

/** encoding/json sorts the keys of a map, the header's among them. */
const toJson = (header: Header, fields: readonly Entry[]): string =>
  `${visible(JSON.stringify(Object.fromEntries([...fields, ...Object.entries(header)].sort(byKey))))}\n`;

const byKey = ([a]: Entry, [b]: Entry): number => (a < b ? -1 : 1);

/** A field may not pose as part of the header. */
const sorted = (fields: LogFields): readonly Entry[] =>
  Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]): Entry => [/^(time|level|msg)$/.test(key) ? `fields.${key}` : key, value])
    .sort(byKey);

/** logrus leaves these characters bare; a line break in a value can never start a line of its own. */
const quoted = (text: string): string => (/^[\w\-./@^+]*$/.test(text) ? text : visible(JSON.stringify(text)));
