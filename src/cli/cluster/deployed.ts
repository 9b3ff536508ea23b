import { listIn, objectAt, objectIn, textIn } from '../../api/json.ts';
import { kindNamed, type WorkloadKind } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/objects.ts';
import type { Environment } from '../../config/options/option-table.ts';
import { type ParsedSettings, parseSettings } from '../../config/parse-settings.ts';
import type { KubeClient } from '../../kube/client.ts';
import { listAll } from '../../model/list-all.ts';

/** An Attune or a Reloader that a Deployment runs, with what its flags and variables amount to. */
export interface Deployed {
  readonly namespace: string;
  readonly name: string;
  readonly image: string;
  readonly parsed: ParsedSettings;
}

const DEPLOYMENTS = kindNamed('Deployment') as WorkloadKind;
// Those of the chart, whatever its name, and the one of Stakater's manifests, in which only the image was changed.
const LABELS = ['app.kubernetes.io/part-of=attune', 'app.kubernetes.io/name=attune', 'group=com.stakater.platform'];
export const ATTUNE_IMAGE: RegExp = /(?:^|\/)attune(?:[@:]|$)/;

/** In one namespace or in all. Undefined: Deployments may not be listed there. */
export async function findDeployed(client: KubeClient, namespace?: string): Promise<readonly Deployed[] | undefined> {
  // By name, as one Deployment may have both labels.
  const found = new Map<string, readonly Deployed[]>();
  for (const labelSelector of LABELS) {
    const objects = await listAll(client, DEPLOYMENTS, { namespace, labelSelector });
    if (!objects) return undefined;
    for (const object of objects) {
      found.set(`${object.metadata.namespace}/${object.metadata.name}`, programsOf(object, ATTUNE_IMAGE));
    }
  }
  return [...found.values()].flat();
}

/** The containers of a Deployment whose image is one of these, as their programs are started. */
export function programsOf(object: KubeObject, images: RegExp): readonly Deployed[] {
  const { name, namespace = '' } = object.metadata;
  return listIn(objectAt(object, ['spec', 'template', 'spec'])['containers']).flatMap((container) => {
    const { image, args, env } = objectIn(container);
    if (!images.test(textIn(image))) return [];
    const words = listIn(args).map(textIn);
    const parsed = parseSettings(words[0] === 'controller' ? words.slice(1) : words, variables(env, object));
    return [{ namespace, name, image: textIn(image), parsed }];
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
