import type { ClusterView } from '../cluster-view.ts';
import { ownerOf, parameterOf } from './parameter-names.ts';
import { shortened } from './refusal.ts';
import { isLineDirective, lineName, lineText, parseStartLine, type StartLine } from './start-line.ts';

/** A setting that the cluster asks for, and that may be tried. */
export interface Wanted {
  /** The key as it is written, under which it is told. */
  readonly label: string;
  /** `spec.redis.maxmemory`, `spec.memory.maxMemory`. */
  readonly path: string;
  /** What there can be only one of: the parameter, or the line with its first argument. */
  readonly name: string;
  readonly text: string;
  /** Undefined: it is a parameter. */
  readonly line: StartLine | undefined;
}

/** A setting that is not tried at all. */
export interface Rejected {
  readonly label: string;
  readonly path: string;
  readonly name: string;
  readonly text: string;
  readonly why: string;
}

export interface WantedConfig {
  /** In the order of their names. */
  readonly wanted: readonly Wanted[];
  readonly rejected: readonly Rejected[];
  /** Nobody has said that it is to go: it is there but bad, or its part of the object cannot be read. */
  isKept(name: string): boolean;
}

const LONGEST_KEY = 128;
const LONGEST_TEXT = 8192;

/** What `spec.redis` and `spec.memory` ask for. */
export function wantedConfig(cluster: ClusterView): WantedConfig {
  const memory = memoryOf(cluster);
  const read = [...cluster.redis].map(([key, text]) => readEntry(key, text));
  const settings = read.map((entry) => ('why' in entry ? entry : unlessTaken(entry, memory, read)));
  const rejected = settings.filter((entry) => 'why' in entry);
  const wanted = [...memory, ...settings.filter((entry): entry is Wanted => !('why' in entry))];
  const names = new Set(rejected.map(({ name }) => name));
  return {
    wanted: wanted.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    rejected,
    isKept: (name) => names.has(name) || isUnreadable(cluster, name),
  };
}

function memoryOf({ memory: { bytes, policy } }: ClusterView): readonly Wanted[] {
  const setting = (name: string, field: string, text: string | undefined): readonly Wanted[] =>
    text === undefined ? [] : [{ label: name, path: `spec.memory.${field}`, name, text, line: undefined }];
  return [
    ...setting('maxmemory', 'maxMemory', bytes?.toString()),
    ...setting('maxmemory-policy', 'maxMemoryPolicy', policy),
  ];
}

/** A part of the object that cannot be read asks for nothing, also not for the end of what it asked for before. */
const isUnreadable = ({ problems }: ClusterView, name: string): boolean =>
  problems.some(({ where }) => {
    if (where === 'spec' || where === 'spec.redis') return true;
    if (where.startsWith('spec.redis.')) return parameterOf(where.slice('spec.redis.'.length)) === name;
    return /^spec\.(?:memory|resources)\b/.test(where) && name.startsWith('maxmemory');
  });

function unlessTaken(entry: Wanted, memory: readonly Wanted[], all: readonly (Wanted | Rejected)[]): Wanted | Rejected {
  const { label, path, name, text } = entry;
  if (memory.some((setting) => setting.name === name))
    return { label, path, name, text, why: 'spec.memory sets it: remove it here' };
  const others = all.filter((other) => other !== entry && other.name === name).map((other) => other.label);
  if (others.length === 0) return entry;
  return { label, path, name, text, why: `it is there twice, also as ${others.join(', ')}: keep one of them` };
}

function readEntry(key: string, text: string): Wanted | Rejected {
  const [, directive = '', argument] = /^(\S*)(?:\s+(.*))?$/s.exec(key.trim()) ?? [];
  const name = parameterOf(directive);
  const owner = ownerOf(name);
  const bad = badKey(key, name, argument) ?? (owner === undefined ? badText(text) : undefined);
  // What follows the directive in the key is shown for known lines only: elsewhere it may be a password.
  const label =
    argument === undefined || isLineDirective(name)
      ? shortened(key, LONGEST_KEY)
      : `${shortened(directive, LONGEST_KEY)} …`;
  const told = { label: label === '' ? '(empty)' : label, path: `spec.redis.${label}`, text };
  if (owner !== undefined) return { ...told, name, text: '', why: `it is not for spec.redis to set. ${owner}` };
  if (bad !== undefined) return { ...told, name, why: bad };
  if (!isLineDirective(name)) return { ...told, name, line: undefined };
  const line = parseStartLine(name, argument ?? '', text);
  if (typeof line === 'string') return { ...told, name: key.toLowerCase(), why: line };
  return { ...told, name: lineName(line), text: lineText(line), line };
}

function badKey(key: string, name: string, argument: string | undefined): string | undefined {
  if (key.trim() === '') return 'the key is empty: write the name of a parameter of Redis';
  if (key.length > LONGEST_TEXT) return `the key has ${key.length} characters: no parameter of Redis has such a name`;
  if (!/^[a-z0-9][a-z0-9_.-]*$/.test(name) || /\p{Cc}/u.test(key))
    return 'this is no name of a parameter of Redis: those have letters, digits, "-", "_" and "." only';
  if (argument === undefined || isLineDirective(name)) return key === key.trim() ? undefined : blank(name);
  return blank(name);
}

const blank = (name: string): string =>
  `the key has a blank: the key is ${shortened(name, LONGEST_KEY)}, all else belongs into the value`;

function badText(text: string): string | undefined {
  if (text.length > LONGEST_TEXT)
    return `the value has ${text.length} characters, at most ${LONGEST_TEXT} are taken: shorten it`;
  if (text.includes('\0')) return 'the value has a NUL byte: remove it';
  return /\p{Cc}/u.test(text)
    ? 'the value has a line break or another control character: write it in one line'
    : undefined;
}
