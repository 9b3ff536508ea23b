import { mkdirSync, rmSync } from 'node:fs';
import { objectAt, objectIn } from '../../api/json.ts';
import type { KubeObject } from '../../api/objects.ts';
import type { Resource } from '../../api/resources.ts';
import type { KubeClient } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { Reflector } from '../../kube/watch/reflector.ts';
import type { Say } from '../progress.ts';
import { claimFolder } from './pod-volumes.ts';

const CLAIMS: Resource = {
  group: '',
  version: 'v1',
  plural: 'persistentvolumeclaims',
  kind: 'PersistentVolumeClaim',
  namespaced: true,
};
const VOLUMES: Resource = {
  group: '',
  version: 'v1',
  plural: 'persistentvolumes',
  kind: 'PersistentVolume',
  namespaced: false,
};

interface ClaimHost {
  readonly client: KubeClient;
  readonly dir: string;
  readonly namespace?: string | undefined;
  readonly say: Say;
}

/** Gives every claim a folder of this machine as its volume, until aborted: the scheduler wants claims to be bound. */
export async function serveClaims({ client, dir, namespace, say }: ClaimHost, signal: AbortSignal): Promise<void> {
  const reflector = new Reflector<KubeObject>(client, CLAIMS, { namespace }, { digest: (object) => object });
  const told = (error: unknown) =>
    say(`a claim for a volume: ${error instanceof Error ? error.message : String(error)}`);
  await reflector.run(signal, (event) => {
    if (event.type === 'add' || event.type === 'change') void bind(client, dir, event.value).catch(told);
    else if (event.type === 'remove') void release(client, dir, event.previous).catch(told);
  });
}

async function bind(client: KubeClient, dir: string, claim: KubeObject): Promise<void> {
  const { namespace = '', name, uid } = claim.metadata;
  const { volumeName, accessModes, resources, storageClassName } = objectAt(claim, ['spec']);
  if (volumeName !== undefined || claim.metadata.deletionTimestamp !== undefined) return;
  const path = claimFolder(dir, namespace, name);
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const volume = {
    apiVersion: 'v1',
    kind: VOLUMES.kind,
    metadata: { name: volumeNameOf(uid) },
    spec: {
      capacity: objectIn(objectIn(resources)['requests']),
      accessModes,
      storageClassName,
      hostPath: { path },
      claimRef: { namespace, name, uid },
      persistentVolumeReclaimPolicy: 'Retain',
    },
  };
  await client.create(VOLUMES, undefined, volume).catch((error: unknown) => {
    if (!KubeError.is(error, 'AlreadyExists')) throw error;
  });
}

async function release(client: KubeClient, dir: string, { metadata }: KubeObject): Promise<void> {
  rmSync(claimFolder(dir, metadata.namespace ?? '', metadata.name), { recursive: true, force: true });
  await client.delete(VOLUMES, { name: volumeNameOf(metadata.uid) }).catch((error: unknown) => {
    if (!KubeError.is(error, 'NotFound')) throw error;
  });
}

const volumeNameOf = (uid: string): string => `sandbox-${uid}`;
