import { afterAll } from 'vitest';
import { type ClientOptions, KubeClient } from '../../src/kube/client.ts';
import type { ApiAccess } from '../../src/sandbox/control-plane/api-request.ts';
import { controlPlane } from './sandbox.ts';

/** Our own client on a control plane of the tests, closed after the test file. */
export function kubeClient(access: ApiAccess = controlPlane(), options: ClientOptions = {}): KubeClient {
  const tls = { ca: access.authority };
  const client = new KubeClient(
    {
      server: new URL(access.server),
      tls: () => tls,
      authorization: () => `Bearer ${access.token}`,
    },
    options,
  );
  afterAll(() => client.close());
  return client;
}
