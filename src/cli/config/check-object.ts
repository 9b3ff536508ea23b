import { DEFAULT_KEYS } from '../../api/annotations.ts';
import { type JsonObject, listIn, objectIn, textIn } from '../../api/json.ts';
import type { KubeObject } from '../../api/objects.ts';
import { RELOADER_CONFIGS } from '../../api/resources.ts';
import type { ConfigProblem, ReloaderConfig } from '../../domain/reloader-config/config.ts';
import { howToAllow } from '../../domain/reloader-config/consent-text.ts';
import { parseReloaderConfig } from '../../domain/reloader-config/parse-config.ts';
import { isSubdomain } from '../../domain/text/subdomain.ts';
import { schemaProblems } from './schema-problems.ts';

/** What was found about one object of a file. */
export interface Checked {
  readonly file: string;
  /** Missing: it is about the file. */
  readonly kind?: string;
  readonly namespace?: string;
  readonly name?: string;
  /** False: it is of another kind, and was passed over. */
  readonly checked: boolean;
  readonly problems: readonly ConfigProblem[];
  /** What the cluster has to allow, and what makes a part of it mean nothing. */
  readonly notes: readonly string[];
}

const API_VERSION = `${RELOADER_CONFIGS.group}/${RELOADER_CONFIGS.version}`;

/** An object as the API server and the controller would look at it. */
export function checkObject(file: string, value: unknown): Checked {
  const object = objectIn(value);
  const metadata = objectIn(object['metadata']);
  const kind = textIn(object['kind']);
  if (kind === '') {
    const problems = [{ path: 'kind', message: 'is missing: this is no object of Kubernetes' }];
    return { file, checked: false, problems, notes: [] };
  }
  const namespace = textIn(metadata['namespace']);
  const name = textIn(metadata['name']) || textIn(metadata['generateName']);
  const found = { file, kind, ...(namespace !== '' && { namespace }), name };
  if (kind !== RELOADER_CONFIGS.kind) return { ...found, checked: false, problems: [], notes: [] };
  const outer = [...headProblems(object, metadata), ...schemaProblems(object)];
  const config = parseReloaderConfig(object as unknown as KubeObject, DEFAULT_KEYS.ignore);
  const inner = config.problems.filter(({ path }) => !outer.some((each) => isWithin(path, each.path)));
  return { ...found, checked: true, problems: [...outer, ...inner], notes: notesOn(config, object) };
}

function headProblems(object: JsonObject, metadata: JsonObject): readonly ConfigProblem[] {
  const isNamed =
    isSubdomain(textIn(metadata['name'])) || isSubdomain(textIn(metadata['generateName']).replace(/[-.]$/, ''));
  return [
    ...(object['apiVersion'] === API_VERSION ? [] : [{ path: 'apiVersion', message: `must be ${API_VERSION}` }]),
    ...(isNamed ? [] : [{ path: 'metadata.name', message: 'must be a name: lower case, digits, and - or . inside' }]),
  ];
}

/** The same field, or one in it: of what is wrong as a whole nothing more is said. */
const isWithin = (path: string, outer: string): boolean =>
  path === outer || path.startsWith(`${outer}.`) || path.startsWith(`${outer}[`);

function notesOn(config: ReloaderConfig, object: JsonObject): readonly string[] {
  const { isIgnored, ref, namespaceSelector, targets } = config;
  const from = ref.namespace === '' ? 'NAMESPACE' : ref.namespace;
  const others = new Set(targets.map((target) => target.ref.namespace).filter((each) => each !== ref.namespace));
  const spec = objectIn(object['spec']);
  const isTargeted = objectIn(spec['watchedResources'])['enableTargetedReload'] === true;
  const requiresReference = listIn(spec['targets']).some((each) => objectIn(each)['requireReference'] === true);
  const evicts = targets.some(
    ({ ref: { kind }, rolloutStrategy }) => rolloutStrategy === 'restart' && kind !== 'Rollout',
  );
  return [
    ...(isIgnored ? [`it asks for nothing as long as it has the annotation ${DEFAULT_KEYS.ignore}: "true"`] : []),
    ...[...others].map((to) => `namespace ${to} must allow it: ${howToAllow(to, from, true)}`),
    ...(namespaceSelector
      ? [`sources elsewhere count if their namespace allows it: ${howToAllow('TO', from, true)}`]
      : []),
    ...(evicts ? ['restart needs the right to evict pods: attune.reloaderConfig.restart=true of the chart'] : []),
    ...(requiresReference && !isTargeted
      ? ['requireReference has no effect without spec.watchedResources.enableTargetedReload']
      : []),
  ];
}
