import {
  type AnnotationKeys,
  DEFAULT_KEYS,
  LAST_RELOADED_FROM,
  MAX_WAIT,
  NUDGE,
  ON_CHANGE,
  QUIET_PERIOD,
  RECORD,
  RETRY,
  ROLLOUT_STRATEGY,
} from '../../api/annotations.ts';
import { type JsonObject, listIn, objectAt, objectIn, textIn } from '../../api/json.ts';
import type { WorkloadKind } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/objects.ts';
import { type Problem, quote } from './ask.ts';
import { elements } from './name-pattern.ts';

type Report = (path: string, message: string) => void;

/** The keys that are known, by where they are read. */
interface Vocabulary {
  /** In metadata, else in the pod template. */
  readonly asking: ReadonlySet<string>;
  /** In metadata alone. */
  readonly own: ReadonlySet<string>;
  /** On sources, not on workloads. */
  readonly ofSources: ReadonlySet<string>;
  /** Never reported, wherever they stand: a reloader wrote them, or a reloader with the default keys reads them. */
  readonly fine: ReadonlySet<string>;
  /** From a simplified spelling to the key that is written like it. */
  readonly meant: ReadonlyMap<string, string>;
}

const vocabularies = new WeakMap<AnnotationKeys, Vocabulary>();
const NONE: readonly Problem[] = [];

/** Likely mistakes: keys that nobody reads, or not where they stand, and lists with wildcards. No decision depends on it. */
export function slipsIn(kind: WorkloadKind, object: KubeObject, keys: AnnotationKeys): readonly Problem[] {
  const metadata = objectIn(object.metadata);
  if (isRunOfCronJob(metadata)) return NONE;
  const words = vocabularyOf(keys);
  const template = objectIn(objectAt(object, kind.templatePath)['metadata']);
  const slips = new Map<string, Problem>();
  const tell: Report = (path, message) => slips.set(`${path} ${message}`, { path, message, isSlip: true });
  inMetadata(kind, objectIn(metadata['annotations']), words, tell);
  inTemplate(objectIn(template['annotations']), words, tell);
  for (const place of [metadata, template]) {
    wildcardsIn(objectIn(place['annotations']), keys, tell);
    for (const label of Object.keys(objectIn(place['labels']))) {
      if (words.asking.has(label) || words.own.has(label))
        tell(label, 'is a label here, and only annotations are read');
    }
  }
  return slips.size === 0 ? NONE : [...slips.values()];
}

/** Its annotations are a copy of its CronJob's, for which they are reported. */
const isRunOfCronJob = (metadata: JsonObject): boolean =>
  listIn(metadata['ownerReferences']).some((owner) => objectIn(owner)['kind'] === 'CronJob');

function inMetadata(kind: WorkloadKind, annotations: JsonObject, words: Vocabulary, tell: Report): void {
  for (const key of Object.keys(annotations)) {
    if (words.ofSources.has(key)) {
      tell(key, `has no effect on a ${kind.kind}: it belongs on the ConfigMap or Secret`);
    } else if (isUnread(key, words)) tell(key, unread(key, words));
  }
}

function inTemplate(annotations: JsonObject, words: Vocabulary, tell: Report): void {
  for (const key of Object.keys(annotations)) {
    if (words.own.has(key)) tell(key, 'has no effect in the pod template: it is read from metadata alone');
    else if (words.ofSources.has(key)) tell(key, 'has no effect here: it belongs on the ConfigMap or Secret');
    else if (isUnread(key, words)) tell(key, unread(key, words));
  }
}

/** Characters of names and stars, one of them behind a letter. As a regular expression, `app-*` matches `app--`, not `app-1`. */
const WILDCARD = /^[a-z0-9.*-]*[a-z0-9-]\*[a-z0-9.*-]*$/i;

function wildcardsIn(annotations: JsonObject, keys: AnnotationKeys, tell: Report): void {
  for (const key of Object.values(keys.named)) {
    for (const element of elements(textIn(annotations[key]))) {
      if (!WILDCARD.test(element) || element.includes('.*')) continue;
      const meant = quote(element.replaceAll('*', '.*'));
      tell(key, `${quote(element)} is a regular expression and no wildcard: did you mean ${meant}?`);
    }
  }
}

const STAKATER = /(?:^|\.)reloader\.stakater\.com\//;

/** We know all keys of Stakater's domain. Of our own there may be others, of a chart or of a later version. */
function isUnread(key: string, { asking, own, fine, meant }: Vocabulary): boolean {
  if (asking.has(key) || own.has(key) || fine.has(key)) return false;
  return STAKATER.test(key) || (key.startsWith('attune.dev/') && meant.has(plainly(key)));
}

function unread(key: string, { meant }: Vocabulary): string {
  const guess = meant.get(plainly(key));
  return guess === undefined ? 'is not read' : `is not read: did you mean ${guess}?`;
}

/** In lower case, and every word in the singular. */
const plainly = (key: string): string =>
  key
    .toLowerCase()
    .split(/(?<=[./])/)
    .map((word) => word.replace(/e?s(?=[./]?$)/, ''))
    .join('');

function vocabularyOf(keys: AnnotationKeys): Vocabulary {
  const found = vocabularies.get(keys);
  if (found) return found;
  const asking = new Set(askingKeys(keys));
  const own = new Set(ownKeys(keys));
  const words: Vocabulary = {
    asking,
    own,
    ofSources: new Set([keys.match, keys.ignore]),
    fine: new Set([LAST_RELOADED_FROM, NUDGE, ...allKeys(DEFAULT_KEYS)]),
    meant: new Map([...asking, ...own].map((key) => [plainly(key), key])),
  };
  vocabularies.set(keys, words);
  return words;
}

/** The keys that are read in metadata or, where none of them is there, in the pod template. */
export function askingKeys(keys: AnnotationKeys): readonly string[] {
  return [keys.auto, keys.search, ...Object.values(keys.named), ...Object.values(keys.typedAuto)];
}

/** The keys that are read in metadata alone. */
export function ownKeys(keys: AnnotationKeys): readonly string[] {
  return [
    ...Object.values(keys.exclude),
    keys.pausePeriod,
    keys.pausedAt,
    ROLLOUT_STRATEGY,
    RECORD,
    QUIET_PERIOD,
    MAX_WAIT,
    ON_CHANGE,
    RETRY,
  ];
}

const allKeys = (keys: AnnotationKeys): readonly string[] => [
  ...askingKeys(keys),
  ...ownKeys(keys),
  keys.match,
  keys.ignore,
];
