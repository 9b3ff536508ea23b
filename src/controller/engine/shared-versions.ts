import { kindNamed } from '../../api/kinds.ts';
import { CONFIG_MAPS, type Resource, SECRETS } from '../../api/resources.ts';
import type { ControllerOptions } from '../../domain/controller-options.ts';
import type { KubeClient, ListScope } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { isTransient } from '../../kube/retry-transient.ts';

/**
 * Whether the server counts the versions of all kinds in one row, as one etcd does.
 *
 * The API promises order only within a kind, so it has to be seen: asked in turn, the kinds answer with versions that
 * never go back and end where they began. Two separate rows would have to meet by chance.
 */
export async function seeSharedVersions(
  client: KubeClient,
  options: ControllerOptions,
  signal: AbortSignal,
): Promise<boolean> {
  const kinds = kindsToAsk(options);
  const scope = options.scope.mode === 'namespaces' ? { namespace: options.scope.namespaces[0] } : {};
  let last = 0;
  try {
    for (const kind of [...kinds, ...kinds.slice(0, 1)]) {
      const version = await versionNow(client, kind, scope, signal);
      if (!(version >= last)) return false;
      last = version;
    }
  } catch (error) {
    if (KubeError.is(error) && !isTransient(error)) return false;
    throw error;
  }
  return kinds.length > 1;
}

/** Only what we follow anyway: what is ignored may not be ours to read. */
function kindsToAsk({ resourcesToIgnore }: ControllerOptions): readonly Resource[] {
  const deployments = kindNamed('Deployment');
  return [
    ...(resourcesToIgnore.has('configmaps') ? [] : [CONFIG_MAPS]),
    ...(deployments ? [deployments] : []),
    ...(resourcesToIgnore.has('secrets') ? [] : [SECRETS]),
  ];
}

async function versionNow(client: KubeClient, kind: Resource, scope: ListScope, signal: AbortSignal): Promise<number> {
  for await (const page of client.list(kind, scope, { metadataOnly: true, limit: 1, signal }))
    return Number(page.resourceVersion);
  return Number.NaN;
}
