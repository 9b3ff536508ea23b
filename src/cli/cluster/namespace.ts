import { NAMESPACES } from '../../api/resources.ts';
import type { KubeClient } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';

/** An empty list is the server's answer for a namespace that there is not, too. Who may not look is not contradicted. */
export async function mustExist(client: KubeClient, name: string): Promise<void> {
  try {
    await client.get(NAMESPACES, { name });
  } catch (error) {
    if (KubeError.is(error, 'NotFound')) throw new Error(`there is no namespace ${name}`, { cause: error });
    if (!KubeError.is(error, 'Forbidden')) throw error;
  }
}
