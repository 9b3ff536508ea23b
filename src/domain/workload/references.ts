import { listIn, objectIn, textIn } from '../../api/json.ts';
import type { SourceKind } from '../../api/sources.ts';
import { indexOnce, WORTH_AN_INDEX } from '../index-once.ts';
import type { Reference } from './workload.ts';

type Named = Pick<Reference, 'kind' | 'name'>;

/**
 * Every source that a pod template names, each with the one container that gets its mark.
 *
 * Stakater's search order: mounted volumes, env of the containers, env of the init containers. Of several volumes with
 * the same source only the first is looked at. What only an init container uses is marked in the first container.
 */
export function referencesOf(template: unknown, compat: boolean): readonly Reference[] {
  const spec = objectIn(objectIn(template)['spec']);
  const containers = listIn(spec['containers']);
  const initContainers = listIn(spec['initContainers']);
  const first = containers.length > 0 ? 0 : undefined;
  const mounting = firstToMount(containers);
  const initMounting = firstToMount(initContainers);
  const placeOf = (volume: unknown): Pick<Reference, 'via' | 'container'> => {
    const name = textIn(objectIn(volume)['name']);
    const container = mounting.get(name);
    if (container !== undefined) return { via: 'volume', container };
    if (initMounting.has(name)) return { via: 'init-volume', container: first };
    return { via: 'unmounted-volume', container: undefined };
  };

  const volumes = firstOfEach(
    listIn(spec['volumes']).flatMap((volume) => {
      const place = placeOf(volume);
      return sourcesOfVolume(volume).map((source) => ({ ...source, ...place }));
    }),
  );
  const pullSecrets = compat ? [] : listIn(spec['imagePullSecrets']);
  return firstOfEach([
    ...volumes.filter(({ via }) => via !== 'unmounted-volume'),
    ...containers.flatMap((entry, container) => sourcesOfEnv(entry).map(at('env', container))),
    ...initContainers.flatMap(sourcesOfEnv).map(at('init-env', first)),
    ...pullSecrets.flatMap((entry) => named('Secret', entry)).map(at('image-pull-secret', first)),
    ...volumes.filter(({ via }) => via === 'unmounted-volume'),
  ]);
}

/** By the name of a volume, the first container that mounts it. */
function firstToMount(containers: readonly unknown[]): ReadonlyMap<unknown, number> {
  const found = new Map<unknown, number>();
  for (const [container, entry] of containers.entries()) {
    for (const mount of listIn(objectIn(entry)['volumeMounts'])) {
      const { name } = objectIn(mount) as Record<string, unknown>;
      if (!found.has(name)) found.set(name, container);
    }
  }
  return found;
}

const at =
  (via: Reference['via'], container: number | undefined) =>
  (source: Named): Reference => ({ ...source, via, container });

const idOf = ({ kind, name }: Named): string => `${kind}/${name}`;

function firstOfEach(references: readonly Reference[]): readonly Reference[] {
  const found = new Map<string, Reference>();
  for (const reference of references) {
    const id = idOf(reference);
    if (!found.has(id)) found.set(id, reference);
  }
  return [...found.values()];
}

function named(kind: SourceKind, holder: unknown, member = 'name'): Named[] {
  const name = textIn(objectIn(holder)[member]);
  return name === '' ? [] : [{ kind, name }];
}

function sourcesOfVolume(volume: unknown): Named[] {
  const { configMap, secret, projected, csi } = objectIn(volume) as Record<string, unknown>;
  return [
    ...named('ConfigMap', configMap),
    ...named('Secret', secret, 'secretName'),
    ...listIn(objectIn(projected)['sources']).flatMap((source) => eitherIn(source, 'configMap', 'secret')),
    ...named('SecretProviderClass', objectIn(csi)['volumeAttributes'], 'secretProviderClass'),
  ];
}

function sourcesOfEnv(container: unknown): Named[] {
  const { env, envFrom } = objectIn(container) as Record<string, unknown>;
  return [
    ...listIn(env).flatMap((variable) => eitherIn(objectIn(variable)['valueFrom'], 'configMapKeyRef', 'secretKeyRef')),
    ...listIn(envFrom).flatMap((from) => eitherIn(from, 'configMapRef', 'secretRef')),
  ];
}

function eitherIn(holder: unknown, configMap: string, secret: string): Named[] {
  const members = objectIn(holder);
  return [...named('ConfigMap', members[configMap]), ...named('Secret', members[secret])];
}

const byName = indexOnce((references: readonly Reference[]) => new Map(references.map((each) => [idOf(each), each])));

/** The reference to a source, if the pod template names it. */
export function referenceTo(references: readonly Reference[], source: Named): Reference | undefined {
  if (references.length >= WORTH_AN_INDEX) return byName(references).get(idOf(source));
  return references.find(({ kind, name }) => kind === source.kind && name === source.name);
}
