import { writeFileSync } from 'node:fs';
import type { ApiAccess } from './api-request.ts';

/** Writes a kubeconfig with a single context. JSON is valid YAML; certificate and token are inside the file. */
export function writeKubeconfig(file: string, name: string, user: ApiAccess & { readonly namespace?: string }): void {
  const { server, authority, token, namespace } = user;
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server, 'certificate-authority-data': Buffer.from(authority).toString('base64') } }],
    users: [{ name, user: { token } }],
    contexts: [{ name, context: { cluster: name, user: name, ...(namespace ? { namespace } : {}) } }],
    'current-context': name,
  };
  writeFileSync(file, `${JSON.stringify(config, undefined, 2)}\n`, { mode: 0o600 });
}
