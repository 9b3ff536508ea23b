import { KubeError } from './kube-error.ts';
import type { Call, Transport } from './wire/transport.ts';

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
    const { resources } = await transport.json<{ readonly resources?: readonly ApiResource[] }>(discovery(path));
    for (const { name, kind } of resources ?? []) {
      // Names like `deployments/status` are subresources.
      if (!name.includes('/')) served.push({ version, plural: name, kind });
    }
  }
  return served;
}

interface ApiResource {
  readonly name: string;
  readonly kind: string;
}

async function servedVersions(transport: Transport, group: string): Promise<readonly string[]> {
  if (group === '') return ['v1'];
  try {
    const { versions } = await transport.json<{ readonly versions: readonly { readonly version: string }[] }>(
      discovery(`/apis/${group}`),
    );
    return versions.map(({ version }) => version);
  } catch (error) {
    if (KubeError.is(error, 'NotFound')) return [];
    throw error;
  }
}

function discovery(path: string): Call {
  return { verb: 'get', resource: 'apis', path };
}
