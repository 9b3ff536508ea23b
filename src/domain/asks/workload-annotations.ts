import type { AnnotationKeys } from '../../api/annotations.ts';
import { SOURCE_KINDS, type SourceKind } from '../../api/sources.ts';
import { parseBool } from '../text/parse-bool.ts';
import {
  type Ask,
  type Intent,
  NO_OVERRIDES,
  originText,
  type Place,
  type Problem,
  quote,
  type Refusal,
} from './ask.ts';
import { elements, type NamePattern, NO_NAME, namePattern } from './name-pattern.ts';

export type Annotations = Readonly<Record<string, string>>;

/** The annotations of a workload and of its pod template. */
export interface Annotated {
  readonly annotations: Annotations;
  readonly templateAnnotations: Annotations;
}

export interface Dialect {
  readonly keys: AnnotationKeys;
  readonly compat: boolean;
}

/** The texts of the four keys that ask for one kind of source; '' if missing. */
export interface AskingTexts {
  readonly kind: SourceKind;
  /** Where all four were read. */
  readonly place: Place;
  readonly named: string;
  readonly search: string;
  readonly auto: string;
  readonly typedAuto: string;
}

/** Stakater: all four are read from metadata if one of them is there, even empty; else all four from the pod template. */
export function askingTexts(
  kind: SourceKind,
  { annotations, templateAnnotations }: Annotated,
  { named, auto, typedAuto, search }: AnnotationKeys,
): AskingTexts {
  const has = (key: string): boolean => Object.hasOwn(annotations, key);
  const place = has(named[kind]) || has(auto) || has(typedAuto[kind]) || has(search) ? 'metadata' : 'template';
  const from = place === 'metadata' ? annotations : templateAnnotations;
  const read = (key: string): string => (Object.hasOwn(from, key) ? (from[key] ?? '') : '');
  return {
    kind,
    place,
    named: read(named[kind]),
    search: read(search),
    auto: read(auto),
    typedAuto: read(typedAuto[kind]),
  };
}

/** What Stakater's annotations ask for and refuse. The asks stand in the order in which Stakater tries them. */
export function parseAnnotations(
  workload: Annotated,
  dialect: Dialect,
  problems: Problem[],
): Pick<Intent, 'asks' | 'refusals' | 'silentOn'> {
  const { keys } = dialect;
  const texts = SOURCE_KINDS.map((kind) => askingTexts(kind, workload, keys));
  const named = texts.flatMap((each) => namedAsk(each, dialect, problems));
  const used = usedAsks(texts, keys);
  const excluded = SOURCE_KINDS.flatMap((kind) => exclusion(kind, workload.annotations, keys));
  const refusals = excluded.concat(dialect.compat ? NONE : autoFalse(texts, keys.auto));
  return {
    // Not by spreading: an array that grew keeps room for more, in every workload.
    asks: named.concat(used),
    refusals: refusals.length === 0 ? NONE : refusals,
    silentOn: kindsOf(texts.filter(({ auto, typedAuto }) => auto === '' && typedAuto === '')),
  };
}

const NONE: readonly never[] = [];
const ONLY: Readonly<Record<SourceKind, readonly SourceKind[]>> = {
  ConfigMap: ['ConfigMap'],
  Secret: ['Secret'],
  SecretProviderClass: ['SecretProviderClass'],
};

/** Lists that many workloads have in common are shared by them. */
function kindsOf(texts: readonly AskingTexts[]): readonly SourceKind[] {
  const [first] = texts;
  if (first === undefined) return NONE;
  if (texts.length === SOURCE_KINDS.length) return SOURCE_KINDS;
  return texts.length === 1 ? ONLY[first.kind] : texts.map(({ kind }) => kind);
}

function namedAsk(texts: AskingTexts, { keys, compat }: Dialect, problems: Problem[]): Ask[] {
  const { kind, place, named: value } = texts;
  checkTexts(texts, keys, problems);
  const key = keys.named[kind];
  const patterns = namePatterns(key, value, problems);
  // Stakater: a missing list has one empty element, `^$`, which a status without a class name matches.
  const isNameless = compat && kind === 'SecretProviderClass' && value.split(',').some((text) => text.trim() === '');
  if (isNameless) patterns.push(NO_NAME);
  if (patterns.length === 0) return [];
  const ask: Ask = {
    because: 'named',
    origin: { by: 'annotation', place, key, value },
    wants: { what: 'named', kinds: ONLY[kind], patterns },
    overrides: NO_OVERRIDES,
  };
  return [value === '' ? shared(ask) : ask];
}

function namePatterns(key: string, text: string, problems: Problem[]): NamePattern[] {
  const patterns = elements(text).map(namePattern);
  for (const pattern of patterns) {
    if (pattern.error !== undefined) {
      problems.push({ path: key, message: `${quote(pattern.text)} is no RE2 regular expression: ${pattern.error}` });
    }
  }
  return patterns;
}

function checkTexts({ kind, auto, typedAuto, search }: AskingTexts, keys: AnnotationKeys, problems: Problem[]): void {
  checkBool(keys.auto, auto, problems);
  checkBool(keys.typedAuto[kind], typedAuto, problems);
  if (search !== 'true' && parseBool(search) !== false && search !== '') {
    problems.push({ path: keys.search, message: `only the exact text "true" counts, not ${quote(search)}` });
  }
}

function checkBool(key: string, text: string, problems: Problem[]): void {
  if (text !== '' && parseBool(text) === undefined) {
    problems.push({ path: key, message: `must be "true" or "false", not ${quote(text)}` });
  }
}

/**
 * What search, auto and typed auto ask for. The first two are about every kind of source, and those kinds for which they
 * are read have them from one place: so each is one ask.
 */
function usedAsks(texts: readonly AskingTexts[], keys: AnnotationKeys): Ask[] {
  const asks: Ask[] = [];
  const add = (because: Ask['because'], key: string, value: string, those: readonly AskingTexts[]): void => {
    const [first] = those;
    if (first === undefined) return;
    const origin = { by: 'annotation', place: first.place, key, value } as const;
    const what = because === 'search-match' ? 'search' : 'used';
    asks.push(shared({ because, origin, wants: { what, kinds: kindsOf(those) }, overrides: NO_OVERRIDES }));
  };
  add(
    'search-match',
    keys.search,
    'true',
    texts.filter(({ search }) => search === 'true'),
  );
  const auto = texts.filter((each) => parseBool(each.auto) === true);
  add('auto', keys.auto, auto[0]?.auto ?? '', auto);
  for (const each of texts) {
    if (parseBool(each.typedAuto) === true) add('typed-auto', keys.typedAuto[each.kind], each.typedAuto, [each]);
  }
  return asks;
}

const sharedAsks = new Map<string, Ask>();

/** One object for all who ask the same. Only for asks of which there are few: they are kept for ever. */
function shared(ask: Ask): Ask {
  const id = `${ask.because} ${originText(ask.origin)} ${ask.wants.kinds}`;
  const known = sharedAsks.get(id);
  if (known === undefined) sharedAsks.set(id, ask);
  return known ?? ask;
}

function exclusion(kind: SourceKind, annotations: Annotations, keys: AnnotationKeys): Refusal[] {
  const key = keys.exclude[kind];
  const names = elements(annotations[key] ?? '');
  if (names.length === 0) return [];
  const origin = { by: 'annotation', place: 'metadata', key, value: names.join(', ') } as const;
  return [{ because: 'excluded', origin, kinds: ONLY[kind], names }];
}

/** Stakater's own reading of `auto: "false"` only ends what auto asks for, hence not under compat. */
function autoFalse(texts: readonly AskingTexts[], key: string): Refusal[] {
  const forbidding = texts.filter(({ auto }) => parseBool(auto) === false);
  const [first] = forbidding;
  if (first === undefined) return [];
  const origin = { by: 'annotation', place: first.place, key, value: first.auto } as const;
  return [{ because: 'auto-false', origin, kinds: kindsOf(forbidding), names: undefined }];
}
