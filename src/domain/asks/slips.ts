import {
  type AnnotationKeys,
  DEFAULT_KEYS,
  LAST_RELOAD,
  LAST_RELOADED_FROM,
  MAX_WAIT,
  NUDGE,
  ON_CHANGE,
  QUIET_PERIOD,
  RECORD,
  RELOADED_AT,
  RETRY,
  ROLLOUT_STRATEGY,
} from '../../api/annotations.ts';
import { type JsonObject, listIn, objectAt, objectIn, textIn } from '../../api/json.ts';
import { type KindName, kindNamed, type WorkloadKind } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/objects.ts';
import { SOURCE_KINDS } from '../../api/sources.ts';
import { quote } from '../text/quote.ts';
import { isSubdomain } from '../text/subdomain.ts';
import { annotationText, type Problem } from './ask.ts';
import { Faults } from './faults.ts';
import { elements } from './name-pattern.ts';
import { type Places, type Report, sapSlips } from './sap-slips.ts';
import { plainly } from './spelling.ts';
import type { Dialect } from './workload-annotations.ts';

/** The keys that are known, by where they are read. */
interface Vocabulary {
  /** In metadata, else in the pod template. */
  readonly asking: ReadonlySet<string>;
  /** In metadata alone. */
  readonly own: ReadonlySet<string>;
  /** On sources, not on workloads; with what a workload carries instead. */
  readonly ofSources: ReadonlyMap<string, string>;
  /** Never reported, wherever they stand: a reloader wrote them, or a reloader with the default keys reads them. */
  readonly fine: ReadonlySet<string>;
  /** From a simplified spelling to the key that is written like it. */
  readonly meant: ReadonlyMap<string, string>;
}

const { match, ignore } = DEFAULT_KEYS;
const vocabularies = new WeakMap<AnnotationKeys, Vocabulary>();
const NONE: readonly Problem[] = [];

/**
 * Likely mistakes: keys that nobody reads, or not where they stand, and lists with wildcards. No decision depends on it. As
 * Stakater, who reports none of them, we are silent about its keys; SAP's names that are never found are told in any case.
 */
export function slipsIn(kind: WorkloadKind, object: KubeObject, dialect: Dialect): readonly Problem[] {
  const metadata = objectIn(object.metadata);
  if (isRunOfCronJob(metadata)) return NONE;
  const template = objectIn(objectAt(object, kind.templatePath)['metadata']);
  const slips = new Map<string, Problem>();
  const tell: Report = (path, message) => {
    if (message !== undefined) slips.set(`${path} ${message}`, { path, message, isSlip: true });
  };
  const places: Places = { kind: kind.kind, metadata, template };
  if (!dialect.compat) stakaterSlips(places, dialect.keys, tell);
  sapSlips(places, dialect.sapCompat, tell);
  return slips.size === 0 ? NONE : few([...slips.values()]);
}

/** Each one becomes an Event and a line of the log, and an object can have thousands of wrong keys. */
const MOST_TOLD = 10;

function few(slips: readonly Problem[]): readonly Problem[] {
  const more = slips.length - MOST_TOLD;
  if (more <= 0) return slips;
  return [
    ...slips.slice(0, MOST_TOLD),
    { path: 'metadata', message: `has ${more} more likely mistakes like these`, isSlip: true },
  ];
}

function stakaterSlips({ kind, metadata, template }: Places, keys: AnnotationKeys, tell: Report): void {
  const words = vocabularyOf(keys);
  namelessIn(objectIn(metadata['annotations']), keys, tell);
  for (const place of [metadata, template]) {
    for (const [key, value] of Object.entries(objectIn(place['annotations']))) {
      tell(key, messageOn(key, words, place === metadata ? kind : undefined) ?? noRestart(key, value, kind));
    }
  }
  for (const place of [metadata, template]) {
    wildcardsIn(objectIn(place['annotations']), keys, tell);
    for (const label of Object.keys(objectIn(place['labels']))) {
      if (words.asking.has(label) || words.own.has(label))
        tell(label, 'is a label here, and only annotations are read');
    }
  }
}

/** Its annotations are a copy of its CronJob's, for which they are reported. */
const isRunOfCronJob = (metadata: JsonObject): boolean =>
  listIn(metadata['ownerReferences']).some((owner) => objectIn(owner)['kind'] === 'CronJob');

const STAKATER = /(?:^|\.)reloader\.stakater\.com\//;

/** What is wrong with a key in the metadata of a workload of this kind, or in a pod template. */
function messageOn(key: string, words: Vocabulary, kind: KindName | undefined): string | undefined {
  const { asking, own, ofSources, fine, meant } = words;
  const instead = ofSources.get(key);
  if (instead !== undefined) {
    return `has no effect ${kind ? `on a ${kind}` : 'here'}: it belongs on the ConfigMap or Secret${instead}`;
  }
  if (own.has(key)) return kind ? undefined : 'has no effect in the pod template: it is read from metadata alone';
  const isStakaters = STAKATER.test(key);
  if (asking.has(key) || fine.has(key) || !(isStakaters || key.startsWith('attune.dev/'))) return undefined;
  const guess = meant.get(plainly(key));
  if (guess !== undefined) return `is not read: did you mean ${guess}?`;
  // We know all keys of Stakater's domain. Of our own there may be others, of a chart or of a later version.
  return isStakaters ? 'is not read' : undefined;
}

/** In reloader-operator `restart` counts on any kind, in Stakater Reloader and here on an Argo Rollout alone. */
function noRestart(key: string, value: unknown, kind: KindName): string | undefined {
  if (key !== ROLLOUT_STRATEGY || value === 'rollout' || kind === 'Rollout') return undefined;
  const isPossible = kindNamed(kind)?.effect === 'patch';
  const instead = isPossible
    ? '. To restart its pods, as in reloader-operator, set rolloutStrategy: restart in a ReloaderConfig'
    : '';
  return `has no effect on a ${kind}: only an Argo Rollout reads it${instead}`;
}

/** Characters of names and stars, one of them behind a letter. As a regular expression, `app-*` matches `app--`, not `app-1`. */
const isWildcard = (element: string): boolean =>
  /^[a-z0-9.*-]*$/i.test(element) && /[a-z0-9-]\*/i.test(element) && !element.includes('.*');

function wildcardsIn(annotations: JsonObject, keys: AnnotationKeys, tell: Report): void {
  for (const key of Object.values(keys.named)) {
    const list = textIn(annotations[key]);
    if (!list.includes('*')) continue;
    const faults = new Faults(key);
    for (const element of elements(list).filter(isWildcard)) {
      const meant = quote(element.replaceAll('*', '.*'));
      faults.add(element, `is a regular expression and no wildcard: did you mean ${meant}?`);
    }
    for (const { path, message } of faults.problems()) tell(path, message);
  }
}

/** Exclude lists have names, letter by letter: expressions, quotes and capital letters exclude nothing. */
function namelessIn(annotations: JsonObject, keys: AnnotationKeys, tell: Report): void {
  for (const kind of SOURCE_KINDS) {
    const key = keys.exclude[kind];
    const faults = new Faults(key);
    for (const element of elements(textIn(annotations[key]))) {
      if (isSubdomain(element)) continue;
      faults.add(element, `excludes nothing: no ${kind} can have that name, and names are taken letter by letter`);
    }
    for (const { path, message } of faults.problems()) tell(path, message);
  }
}

function vocabularyOf(keys: AnnotationKeys): Vocabulary {
  const found = vocabularies.get(keys);
  if (found) return found;
  const asking = new Set(askingKeys(keys));
  const own = new Set(ownKeys(keys));
  const words: Vocabulary = {
    asking,
    own,
    ofSources: new Map([
      [keys.match, ''],
      [keys.ignore, `. To exclude the workload, as in reloader-operator, set ${annotationText(keys.auto, 'false')}`],
    ]),
    fine: new Set([
      LAST_RELOAD,
      LAST_RELOADED_FROM,
      NUDGE,
      ...askingKeys(DEFAULT_KEYS),
      ...ownKeys(DEFAULT_KEYS),
      match,
      ignore,
    ]),
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
    RELOADED_AT,
    QUIET_PERIOD,
    MAX_WAIT,
    ON_CHANGE,
    RETRY,
  ];
}
