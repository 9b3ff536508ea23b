import { listIn, objectAt, objectIn, textIn } from '../api/json.ts';
import { kindNamed, type WorkloadKind } from '../api/kinds.ts';
import type { KubeObject } from '../api/objects.ts';
import { type Environment, parseSettings } from '../config/parse-settings.ts';
import type { Settings } from '../config/settings.ts';
import type { KubeClient } from '../kube/client.ts';
import { KubeError } from '../kube/kube-error.ts';

/** An Attune that runs in the cluster, with the settings that its flags and variables amount to. */
export interface Installation {
  readonly namespace: string;
  readonly name: string;
  readonly settings: Settings;
}

const DEPLOYMENTS = kindNamed('Deployment') as WorkloadKind;
// The chart's label, and the one of Stakater's manifests, in which only the image was changed.
const LABELS = ['app.kubernetes.io/name=attune', 'group=com.stakater.platform'];
const IMAGE = /(?:^|\/)attune(?:[@:]|$)/;

/** All that can be seen; none where Deployments of other namespaces may not be listed. */
export async function findInstallations(client: KubeClient): Promise<readonly Installation[]> {
  const found: Installation[] = [];
  try {
    for (const labelSelector of LABELS) {
      for await (const page of client.list(DEPLOYMENTS, { labelSelector })) found.push(...page.items.flatMap(asAttune));
    }
  } catch (error) {
    if (!KubeError.is(error, 'Forbidden')) throw error;
  }
  return found;
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
