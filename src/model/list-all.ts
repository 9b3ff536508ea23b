import type { KubeObject } from '../api/objects.ts';
import type { Resource } from '../api/resources.ts';
import type { KubeClient, ListScope } from '../kube/client.ts';
import { KubeError } from '../kube/kube-error.ts';

/** All objects of a kind, none where it is not served; undefined: they may not be listed. */
export async function listAll(
  client: KubeClient,
  resource: Resource,
  scope: ListScope,
  metadataOnly = false,
): Promise<readonly KubeObject[] | undefined> {
  const objects: KubeObject[] = [];
  try {
    for await (const page of client.list(resource, scope, { metadataOnly })) {
      // The list had to begin anew.
      if (page.fresh) objects.length = 0;
      objects.push(...page.items);
    }
    return objects;
  } catch (error) {
    if (!KubeError.is(error, 'Forbidden', 'NotFound')) throw error;
    return error.reason === 'NotFound' ? [] : undefined;
  }
}

/**
 * Whether the server has this kind at all: who has no right to one that does not exist is told the same as for one that
 * does. Every user who is known to the server may ask; where even that is refused, it is taken to exist.
 */
export async function isServed(client: KubeClient, { group, plural }: Resource): Promise<boolean> {
  try {
    return (await client.discover(group)).some((served) => served.plural === plural);
  } catch (error) {
    if (!KubeError.is(error, 'Forbidden')) throw error;
    return true;
  }
}
