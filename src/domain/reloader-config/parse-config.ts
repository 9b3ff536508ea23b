import { type JsonObject, listIn, objectIn, textIn } from '../../api/json.ts';
import type { KubeObject } from '../../api/objects.ts';
import { SOURCE_KINDS } from '../../api/sources.ts';
import type { IgnoredSource } from '../asks/ask.ts';
import { Faults } from '../asks/faults.ts';
import { countNames, firstNames, MOST_NAMES, TOO_MANY_NAMES } from '../asks/name-budget.ts';
import { type NamePattern, wholePatterns } from '../asks/name-pattern.ts';
import { parseLabelSelector, parseLabels } from '../text/label-selector.ts';
import { parseBool } from '../text/parse-bool.ts';
import { isSubdomain } from '../text/subdomain.ts';
import { workloadKey } from '../workload/workload.ts';
import type { ConfigProblem, ConfigTarget, ReloaderConfig } from './config.ts';
import { isGiven, listAt, Problems, shown, switchAt } from './fields.ts';
import { namespaceNamed, parseTarget, type Strategies, strategiesAt, targetRef } from './parse-target.ts';

/** What a ReloaderConfig asks for. It never throws: whatever cannot be understood is among the problems. */
export function parseReloaderConfig(object: KubeObject, ignoreKey: string): ReloaderConfig {
  const problems = new Problems();
  const metadata = objectIn(object.metadata) as Record<string, unknown>;
  const spec = objectIn((object as { readonly spec?: unknown }).spec) as Record<string, unknown>;
  const namespace = textIn(metadata['namespace']);
  const flag = (field: string): boolean | undefined => switchAt(spec[field], `spec.${field}`, problems, false);
  const report = (problem: ConfigProblem): void => problems.push(problem);
  const autoReloadAll = flag('autoReloadAll') === true;
  const ignored = parseIgnored(spec['ignoreResources'], problems);
  const parsed = {
    ref: { namespace, name: textIn(metadata['name']) },
    uid: textIn(metadata['uid']),
    resourceVersion: textIn(metadata['resourceVersion']),
    generation: typeof metadata['generation'] === 'number' ? metadata['generation'] : 0,
    createdAt: textIn(metadata['creationTimestamp']),
    askedSince: askedSince(metadata),
    isIgnored: parseIgnore(metadata, ignoreKey, problems),
    ...parseWatched(spec['watchedResources'], autoReloadAll, problems),
    matchLabels: parseLabels(spec['matchLabels'], 'spec.matchLabels', report),
    autoReloadAll,
    targets: parseTargets(spec, namespace, problems),
    lifecycle: { reloadOnCreate: flag('reloadOnCreate'), reloadOnDelete: flag('reloadOnDelete') },
    alerts: flag('alerts') !== false,
  };
  return { ...parsed, ...(ignored ? { ignored } : NOTHING_ASKED), problems: problems.list() };
}

function askedSince(metadata: Readonly<Record<string, unknown>>): string {
  const edits = listIn(metadata['managedFields'])
    .map((each) => objectIn(each) as Record<string, unknown>)
    .filter(({ fieldsV1 }) => 'f:spec' in objectIn(fieldsV1));
  // RFC 3339 of one form: texts compare as times do.
  return [textIn(metadata['creationTimestamp']), ...edits.map(({ time }) => textIn(time))].toSorted().at(-1) ?? '';
}

const WATCHED = 'spec.watchedResources';

type Watched = Pick<ReloaderConfig, 'names' | 'resourceSelector' | 'namespaceSelector'>;

function parseWatched(value: unknown, autoReloadAll: boolean, problems: Problems): Watched {
  const watched = objectIn(value) as Record<string, unknown>;
  if (isGiven(value) && watched !== value) problems.push({ path: WATCHED, message: 'must be an object' });
  const selector = (field: 'resourceSelector' | 'namespaceSelector') =>
    isGiven(watched[field])
      ? parseLabelSelector(watched[field], `${WATCHED}.${field}`, (problem) => problems.push(problem))
      : undefined;
  const asksForAny = autoReloadAll || isGiven(watched['resourceSelector']);
  if (!asksForAny && isEmpty(watched['configMaps']) && isEmpty(watched['secrets'])) {
    const message = 'names no source: list some in configMaps or secrets, set resourceSelector or spec.autoReloadAll';
    problems.push({ path: WATCHED, message });
  }
  const configMaps = parseNames(watched['configMaps'], `${WATCHED}.configMaps`, MOST_NAMES, problems);
  const room = MOST_NAMES - countNames(configMaps);
  return {
    names: {
      ConfigMap: configMaps,
      Secret: parseNames(watched['secrets'], `${WATCHED}.secrets`, room, problems),
    },
    resourceSelector: selector('resourceSelector'),
    namespaceSelector: selector('namespaceSelector'),
  };
}

const isEmpty = (list: unknown): boolean => !isGiven(list) || (Array.isArray(list) && list.length === 0);

function parseNames(value: unknown, path: string, room: number, problems: Problems): readonly NamePattern[] {
  const patterns = wholePatterns(listAt(value, path, problems).map(textIn), (text, fault, index) => {
    const message = `${shown(text)} ${fault}; expected a name, or an RE2 regular expression of names`;
    problems.push({ path: `${path}[${index}]`, message });
  });
  if (countNames(patterns) <= room) return patterns;
  const faults = new Faults(path);
  const first = firstNames(patterns, room, (text) => faults.add(text, TOO_MANY_NAMES));
  for (const problem of faults.problems()) problems.push(problem);
  return first;
}

/** What is asked for until `ignoreResources` is corrected: a source that nobody can tell was meant to be left out. */
const NOTHING_ASKED: Pick<ReloaderConfig, 'ignored' | 'names' | 'resourceSelector' | 'autoReloadAll'> = {
  ignored: [],
  names: { ConfigMap: [], Secret: [] },
  resourceSelector: undefined,
  autoReloadAll: false,
};
const NOTHING_RELOADS = 'until you correct it, this ReloaderConfig reloads nothing';

/** Undefined if one of its names cannot be read. */
function parseIgnored(value: unknown, problems: Problems): readonly IgnoredSource[] | undefined {
  const path = 'spec.ignoreResources';
  let isSound = !isGiven(value) || Array.isArray(value);
  if (!isSound) problems.push({ path, message: `must be a list, not ${shown(value)}: ${NOTHING_RELOADS}` });
  const ignored = listIn(value).flatMap((each, index) => {
    const here = `${path}[${index}]`;
    const { kind, name, namespace } = objectIn(each) as Record<string, unknown>;
    const known = SOURCE_KINDS.filter((row) => row === kind);
    if (known.length === 0) {
      const message = `must be one of ${SOURCE_KINDS.join(', ')}, not ${shown(kind ?? '')}`;
      problems.push({ path: `${here}.kind`, message });
    }
    const isAnywhere = !isGiven(namespace) || namespace === '';
    const where = isAnywhere ? undefined : namespaceNamed(namespace, `${here}.namespace`, problems);
    if (typeof name !== 'string' || !isSubdomain(name)) {
      isSound = false;
      const message = `must be the name of a source, not ${shown(name ?? '')}: ${NOTHING_RELOADS}`;
      problems.push({ path: `${here}.name`, message });
      return [];
    }
    // Without a kind or namespace that can be read, more is left out: nothing is reloaded that was meant to be left out.
    const kinds = known.length === 0 ? SOURCE_KINDS : known;
    return kinds.map((of) => ({ kind: of, name, ...(where !== undefined && { namespace: where }) }));
  });
  return isSound ? ignored : undefined;
}

/** Only the exact text counts, as on a source. Any other yes is most likely a mistake. */
function parseIgnore(metadata: JsonObject, key: string, problems: Problems): boolean {
  const { [key]: text } = objectIn(metadata['annotations']);
  const isClear =
    !isGiven(text) || text === '' || text === 'true' || (typeof text === 'string' && parseBool(text) === false);
  if (!isClear) {
    const path = `metadata.annotations[${JSON.stringify(key)}]`;
    problems.push({ path, message: `only the exact text "true" counts, not ${shown(text)}` });
  }
  return text === 'true';
}

function parseTargets(spec: JsonObject, own: string, problems: Problems): readonly ConfigTarget[] {
  const targeted = objectIn(spec['watchedResources'])['enableTargetedReload'];
  const enableTargetedReload = switchAt(targeted, `${WATCHED}.enableTargetedReload`, problems, true) === true;
  const consequence = 'targets without one of their own are not reloaded';
  const strategies: Strategies = strategiesAt(spec, 'spec', consequence, problems);
  const list = listAt(spec['targets'], 'spec.targets', problems);
  if (list.length === 0) problems.push({ path: 'spec.targets', message: 'names no workload that could be reloaded' });
  const paths = new Map<string, string>();
  return list.flatMap((value, index) => {
    const path = `spec.targets[${index}]`;
    const ref = targetRef(value, path, own, problems);
    if (!ref) return [];
    const first = paths.get(workloadKey(ref));
    if (first !== undefined) {
      problems.push({ path, message: `names the same workload as ${first}, which counts: remove one of them` });
      return [];
    }
    paths.set(workloadKey(ref), path);
    return parseTarget(value, { path, ref }, { ...strategies, enableTargetedReload }, problems) ?? [];
  });
}
