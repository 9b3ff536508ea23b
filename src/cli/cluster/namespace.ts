import { NAMESPACES } from '../../api/resources.ts';
import type { KubeClient } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';

/** Fails if there is no such namespace: the server lists nothing in it, and no error. A user who may not look is believed. */
export async function mustExist(client: KubeClient, name: string): Promise<void> {
  try {
    await client.get(NAMESPACES, { name });
  } catch (error) {
    if (KubeError.is(error, 'NotFound')) throw new Error(`there is no namespace ${name}`, { cause: error });
    if (!KubeError.is(error, 'Forbidden')) throw error;
  }
}
