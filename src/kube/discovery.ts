import { KubeError } from './kube-error.ts';
import type { Transport } from './wire/transport.ts';

export interface ServedKind {
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
}

/** See `KubeClient.discover`. */
export async function servedKinds(transport: Transport, group: string): Promise<readonly ServedKind[]> {
  const served: ServedKind[] = [];
  for (const version of await servedVersions(transport, group)) {
    const path = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
    const { resources } = await transport.json<ApiResourceList>({ verb: 'get', resource: 'apis', path });
    for (const { name, kind } of resources ?? []) {
      // Names like `deployments/status` are subresources.
      if (!name.includes('/')) served.push({ version, plural: name, kind });
    }
  }
  return served;
}

interface ApiResourceList {
  readonly resources?: readonly { readonly name: string; readonly kind: string }[] | null;
}

interface ApiGroup {
  readonly versions: readonly { readonly version: string }[];
}

async function servedVersions(transport: Transport, group: string): Promise<readonly string[]> {
  if (group === '') return ['v1'];
  try {
    const path = `/apis/${group}`;
    const { versions } = await transport.json<ApiGroup>({ verb: 'get', resource: 'apis', path });
    return versions.map(({ version }) => version);
  } catch (error) {
    if (KubeError.is(error, 'NotFound')) return [];
    throw error;
  }
}
