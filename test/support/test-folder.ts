import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach } from 'vitest';

/** A folder of each test's own; all are gone with the test file. */
export function testFolder(name: string) {
  let root = '';
  let path = '';
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), `${name}-`));
  });
  beforeEach(async () => {
    path = await mkdtemp(join(root, 'test-'));
  });
  afterAll(() => rm(root, { recursive: true }));
  return {
    get path() {
      return path;
    },
    /** Writes a file and tells its path. */
    async file(file: string, content: string): Promise<string> {
      await writeFile(join(path, file), content);
      return join(path, file);
    },
  };
}

/** A kubeconfig of one cluster and one user, each in YAML's short form. */
export const kubeconfig = (server: string, user = '{token: t0}', cluster = '') => `
apiVersion: v1
kind: Config
current-context: first
contexts:
- {name: first, context: {cluster: c, user: u, namespace: shop}}
- {name: second, context: {cluster: c}}
clusters:
- name: c
  cluster: {server: "${server}"${cluster}}
users:
- name: u
  user: ${user}
`;
