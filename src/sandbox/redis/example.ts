import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { objectAt } from '../../api/json.ts';
import type { KubeObject } from '../../api/objects.ts';
import { REDIS_CLUSTERS, type Resource, SECRETS } from '../../api/resources.ts';

/** The names that the example has. */
export const EXAMPLE = {
  cluster: 'redis',
  pods: ['redis-0', 'redis-1', 'redis-2'],
  authSecret: 'redis-auth',
  aclSecret: 'redis-acl',
  tlsSecret: 'redis-tls',
  caSecret: 'redis-ca',
  rotationKeySecret: 'redis-rotation-key',
} as const;

/** What stands for the sample values of the example. */
export interface ExampleValues {
  readonly namespace: string;
  readonly password: string;
  readonly acl: string;
  readonly rotationKey: string;
  readonly authOverlap: string;
  readonly leaf: { readonly cert: string; readonly key: string };
  readonly authority: string;
}

export interface ExampleObject {
  readonly resource: Resource;
  readonly body: KubeObject;
}

/** The objects of deploy/redis/example.yaml with TLS, in its order; the Secrets come first. */
export function exampleObjects(values: ExampleValues): readonly ExampleObject[] {
  // As kubectl reads it: in YAML 1.2 a mode like 0440 would be no octal number.
  const documents = parseAllDocuments(exampleText().replaceAll('#tls ', ''), { version: '1.1' });
  const objects = documents.map((document) => document.toJS() as KubeObject | null).filter((object) => object !== null);
  const secrets = Object.entries(secretsOf(values)).map(([name, stringData]) => ({
    resource: SECRETS,
    body: secret(name, values.namespace, stringData),
  }));
  return [...secrets, ...objects.filter(({ kind }) => kind !== SECRETS.kind).map((each) => placed(each, values))];
}

const secretsOf = ({ password, acl, rotationKey, leaf, authority }: ExampleValues) => ({
  [EXAMPLE.authSecret]: { password },
  [EXAMPLE.aclSecret]: { acl },
  [EXAMPLE.rotationKeySecret]: { key: rotationKey },
  [EXAMPLE.tlsSecret]: { 'tls.crt': leaf.cert, 'tls.key': leaf.key },
  [EXAMPLE.caSecret]: { 'ca.crt': authority },
});

const secret = (name: string, namespace: string, stringData: Readonly<Record<string, string>>) =>
  ({ apiVersion: 'v1', kind: SECRETS.kind, metadata: { name, namespace }, stringData }) as unknown as KubeObject;

function placed(object: KubeObject, { namespace, authOverlap }: ExampleValues): ExampleObject {
  const body = { ...object, metadata: { ...object.metadata, namespace } };
  const resource = resourceOf(object);
  if (resource.kind !== REDIS_CLUSTERS.kind) return { resource, body };
  return { resource, body: { ...body, spec: { ...objectAt(object, ['spec']), authOverlap } } as KubeObject };
}

/** Each kind of the example is the plural of itself in small letters. */
function resourceOf({ apiVersion = '', kind = '' }: KubeObject): Resource {
  const [version = '', group = ''] = apiVersion.split('/').toReversed();
  return { group, version, kind, plural: `${kind.toLowerCase()}s`, namespaced: true };
}

/** Fails where the example is not: better before anything is made than after. */
export function requireExample(): void {
  exampleText();
}

/** It is a file of the repository: of the sources, and of a bundle that was made within it. */
function exampleText(): string {
  for (let folder = import.meta.dirname; ; folder = dirname(folder)) {
    const file = join(folder, 'deploy', 'redis', 'example.yaml');
    if (existsSync(file)) return readFileSync(file, 'utf8');
    if (folder === dirname(folder)) throw new Error('deploy/redis/example.yaml is part of the repository only');
  }
}
