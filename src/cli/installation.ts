import { listIn, objectAt, objectIn, textIn } from '../api/json.ts';
import { kindNamed, type WorkloadKind } from '../api/kinds.ts';
import type { KubeObject } from '../api/objects.ts';
import { type Environment, parseSettings } from '../config/parse-settings.ts';
import type { Settings } from '../config/settings.ts';
import type { KubeClient } from '../kube/client.ts';
import { KubeError } from '../kube/kube-error.ts';
import type { Cluster } from './cluster-command.ts';

/** An Attune that runs in the cluster, with the settings that its flags and variables amount to. */
interface Installation {
  readonly namespace: string;
  readonly name: string;
  readonly settings: Settings;
}

const DEPLOYMENTS = kindNamed('Deployment') as WorkloadKind;
// Those of the chart, whatever its name, and the one of Stakater's manifests, in which only the image was changed.
const LABELS = ['app.kubernetes.io/part-of=attune', 'app.kubernetes.io/name=attune', 'group=com.stakater.platform'];
const IMAGE = /(?:^|\/)attune(?:[@:]|$)/;

/** Settings to go by, and how we came by them. */
export interface Ruling {
  readonly by: string;
  readonly settings: Settings;
  /** Of the Attune that has them. */
  readonly namespace?: string;
}

/** The flags given, else those of every Attune in the cluster, the one for this namespace first, else the defaults. */
export async function rulings(
  { client, request, settings }: Pick<Cluster, 'client' | 'request' | 'settings'>,
  namespace?: string,
): Promise<readonly [Ruling, ...Ruling[]]> {
  if (request.controller.length > 0) return [{ by: 'the flags given', settings }];
  const installations = await findInstallations(client);
  if (!installations) {
    return [{ by: 'the default flags: you may not look for Attune; if it has others, give them here', settings }];
  }
  const [first, ...others] = installations
    .toSorted((a, b) => remoteness(a, namespace) - remoteness(b, namespace))
    .map((each) => ({ ...each, by: `the flags of Deployment ${each.namespace}/${each.name}` }));
  return first ? [first, ...others] : [{ by: 'the default flags: no Attune was found in the cluster', settings }];
}

/** One that was told to watch a namespace knows better than one that watches them all. */
function remoteness({ settings: { scope } }: Installation, namespace: string | undefined): number {
  if (scope.mode === 'global') return 1;
  return namespace !== undefined && scope.namespaces.includes(namespace) ? 0 : 2;
}

/** Undefined: Deployments of all namespaces may not be listed. */
async function findInstallations(client: KubeClient): Promise<readonly Installation[] | undefined> {
  // By name, as one Deployment may have both labels.
  const found = new Map<string, readonly Installation[]>();
  try {
    for (const labelSelector of LABELS) {
      for await (const { items } of client.list(DEPLOYMENTS, { labelSelector })) {
        for (const object of items) found.set(`${object.metadata.namespace}/${object.metadata.name}`, asAttune(object));
      }
    }
  } catch (error) {
    if (!KubeError.is(error, 'Forbidden')) throw error;
    return undefined;
  }
  return [...found.values()].flat();
}

function asAttune(object: KubeObject): readonly Installation[] {
  const { name, namespace = '' } = object.metadata;
  const containers = listIn(objectAt(object, ['spec', 'template', 'spec'])['containers']).map(objectIn);
  return containers.flatMap(({ image, args, env }) => {
    if (!IMAGE.test(textIn(image))) return [];
    const words = listIn(args).map(textIn);
    const parsed = parseSettings(words[0] === 'controller' ? words.slice(1) : words, variables(env, object));
    return parsed.ok ? [{ namespace, name, settings: parsed.settings }] : [];
  });
}

/** What the downward API would fill in is known; what comes from a Secret decides nothing that we tell. */
function variables(env: unknown, { metadata }: KubeObject): Environment {
  const fields: Readonly<Record<string, string | undefined>> = {
    'metadata.name': metadata.name,
    'metadata.namespace': metadata.namespace,
  };
  return Object.fromEntries(
    listIn(env).map((entry) => {
      const { name, value, valueFrom } = objectIn(entry);
      const field = textIn(objectIn(objectIn(valueFrom)['fieldRef'])['fieldPath']);
      return [textIn(name), valueFrom === undefined ? textIn(value) : fields[field]];
    }),
  );
}
