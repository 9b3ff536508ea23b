import type { AnnotationKeys } from '../../api/annotations.ts';
import type { SourceKind } from '../../api/sources.ts';
import { parseBool } from '../text/parse-bool.ts';
import { quote } from '../text/quote.ts';
import { type Ask, NO_OVERRIDES, type Place, type Problem, type Refusal, type Wants } from './ask.ts';
import { Faults } from './faults.ts';
import { NO_NAME, namesIn, patternsIn } from './name-pattern.ts';
import { RELOAD_ALL } from './reload-all-flag.ts';

export type Annotations = Readonly<Record<string, string>>;

/** The annotations of a workload and of its pod template, and those of its labels that ask or refuse. */
export interface Annotated {
  readonly labels: Annotations;
  readonly annotations: Annotations;
  readonly templateAnnotations: Annotations;
}

/** How annotations are spelled and understood. */
export interface Dialect {
  readonly keys: AnnotationKeys;
  /** As Stakater, for its annotations. */
  readonly compat: boolean;
  /** As SAP, for its own. */
  readonly sapCompat: boolean;
}

/** What the parsers have found so far. */
export interface Found {
  readonly asks: Ask[];
  readonly refusals: Refusal[];
  readonly problems: Problem[];
}

/** The texts of the four keys that ask for one kind of source; '' if missing. */
export interface AskingTexts extends Readonly<Record<'named' | 'search' | 'auto' | 'typedAuto', string>> {
  readonly kind: SourceKind;
  readonly place: Place;
}

/** Stakater: all four are read from metadata if one of them is there, even empty; else all four from the pod template. */
export function askingTexts(kind: SourceKind, workload: Annotated, keys: AnnotationKeys): AskingTexts {
  const { annotations, templateAnnotations } = workload;
  const named = keys.named[kind];
  const typedAuto = keys.typedAuto[kind];
  const has = (key: string): boolean => Object.hasOwn(annotations, key);
  const place = has(named) || has(keys.auto) || has(typedAuto) || has(keys.search) ? 'metadata' : 'template';
  const from = place === 'metadata' ? annotations : templateAnnotations;
  const read = (key: string): string => (Object.hasOwn(from, key) ? (from[key] ?? '') : '');
  const auto = read(keys.auto);
  return { kind, place, named: read(named), search: read(keys.search), auto, typedAuto: read(typedAuto) };
}

/** What Stakater's annotations ask for and refuse about one kind of source. */
export function parseAnnotations(kind: SourceKind, workload: Annotated, dialect: Dialect, found: Found): void {
  const texts = askingTexts(kind, workload, dialect.keys);
  checkTexts(texts, dialect, found.problems);
  addAsks(texts, dialect, found);
  if (texts.auto === '' && texts.typedAuto === '') found.asks.push(RELOAD_ALL[kind]);
  addRefusals(texts, workload.annotations, dialect, found);
}

function checkTexts(texts: AskingTexts, { keys, compat, sapCompat }: Dialect, problems: Problem[]): void {
  const { kind, search, auto, typedAuto } = texts;
  const check = (path: string, text: string, blocks: boolean): void => {
    if (text === '' || parseBool(text) !== undefined) return;
    problems.push({ path, message: `must be "true" or "false", not ${quote(text)}`, ...(blocks && { blocks }) });
  };
  // What was meant to say `false` must not reload. Neither Stakater nor SAP reads it so.
  check(keys.auto, auto, !compat && !sapCompat);
  check(keys.typedAuto[kind], typedAuto, false);
  if (search === 'true' || search === '' || parseBool(search) === false) return;
  problems.push({ path: keys.search, message: `only the exact text "true" counts, not ${quote(search)}` });
}

/** In the order in which Stakater looks at the keys. */
function addAsks(texts: AskingTexts, { keys, compat }: Dialect, { asks, problems }: Found): void {
  const { kind, place, named, search, auto, typedAuto } = texts;
  const add = (because: Ask['because'], key: string, value: string, wants: Wants): void => {
    const ask: Ask = { because, origin: { by: 'annotation', place, key, value }, wants, overrides: NO_OVERRIDES };
    const isCommon = wants.what !== 'named' || value === '';
    asks.push(isCommon ? shared(`${because} ${place} ${key} ${value} ${kind}`, ask) : ask);
  };
  const faults = new Faults(keys.named[kind]);
  const patterns = [...patternsIn(named, (text, fault) => faults.add(text, fault))];
  problems.push(...faults.problems());
  // Stakater: a missing list has one empty element, `^$`, which a status without a class name matches.
  const isNameless = compat && kind === 'SecretProviderClass' && hasEmptyElement(named);
  if (isNameless) patterns.push(NO_NAME);
  // A list of which nothing can be read asks for nothing, but it still asks.
  if (patterns.length > 0 || faults.count > 0) add('named', keys.named[kind], named, { what: 'named', kind, patterns });
  if (search === 'true') add('search-match', keys.search, search, { what: 'search', kind });
  if (parseBool(auto)) add('auto', keys.auto, auto, { what: 'used', kind });
  if (parseBool(typedAuto)) add('typed-auto', keys.typedAuto[kind], typedAuto, { what: 'used', kind });
}

const hasEmptyElement = (list: string): boolean => /(?:^|,)\s*(?:,|$)/.test(list);

const sharedAsks = new Map<string, Ask>();

/** One object for all workloads that ask the same. Only for asks of which there are few: they are kept for ever. */
function shared(id: string, ask: Ask): Ask {
  const known = sharedAsks.get(id);
  if (known === undefined) sharedAsks.set(id, ask);
  return known ?? ask;
}

function addRefusals(
  texts: AskingTexts,
  own: Annotations,
  { keys, compat }: Dialect,
  { refusals, problems }: Found,
): void {
  const { kind, place, auto } = texts;
  const key = keys.exclude[kind];
  const faults = new Faults(key);
  const names = namesIn(own[key] ?? '', (text, fault) => faults.add(text, fault));
  problems.push(...faults.problems());
  if (names.size > 0) {
    const origin = { by: 'annotation', place: 'metadata', key, value: [...names].join(', ') } as const;
    refusals.push({ because: 'excluded', origin, kind, names });
  }
  // For Stakater itself `auto: "false"` is only the end of what auto asks for.
  if (!compat && parseBool(auto) === false) {
    refusals.push({ because: 'auto-false', origin: { by: 'annotation', place, key: keys.auto, value: auto }, kind });
  }
}
