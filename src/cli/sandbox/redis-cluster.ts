import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { connectRedis } from '../../agent/redis/connection/connect.ts';
import { RedisRefusal, RedisUnreachable } from '../../agent/redis/connection/redis.ts';
import { objectAt, objectIn, textIn } from '../../api/json.ts';
import type { DataObject, KubeObject } from '../../api/objects.ts';
import { crd } from '../../api/redis-cluster/crd.ts';
import { NAMESPACES, PODS, REDIS_CLUSTERS, type Resource, SECRETS } from '../../api/resources.ts';
import type { KubeClient } from '../../kube/client.ts';
import { KubeError, unlessAbsent } from '../../kube/kube-error.ts';
import { EXAMPLE, exampleObjects } from '../../sandbox/redis/example.ts';
import { type SamplePair, sampleAuthority, sampleLeaf } from '../redis/sample-certificates.ts';

/** Where the example is on the sandbox, and what it is called there. */
export const REDIS = { namespace: 'redis', name: EXAMPLE.cluster, user: 'shop' } as const;
export const REDIS_PORT = 6379;
/** The names that its certificates are for. */
const HOSTS = ['redis', 'redis-leader', 'redis-any', '*.redis.redis.svc', 'localhost'];
/** Kept beside the certificate that it signs, for the next one; a Secret of the sandbox alone. */
const AUTHORITY_SECRET = 'sandbox-authority';
const OVERLAP = '5s';

const INTERVAL_MS = 200;
const DEADLINE_MS = 90_000;

const DEFINITIONS: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
};

/** A pod of the example, as it can be reached. */
export interface RedisNode {
  readonly pod: string;
  readonly host: string;
}

/** Makes deploy/redis/example.yaml, with TLS and secrets of its own; what is there already stays as it is. */
export async function installRedis(client: KubeClient, signal: AbortSignal): Promise<void> {
  const definition = crd();
  await create(client, DEFINITIONS, definition as unknown as KubeObject);
  await until('RedisClusters being served', signal, () => isServed(client));
  const { namespace } = REDIS;
  await create(client, NAMESPACES, { metadata: { name: namespace } } as KubeObject);
  const authority = await theAuthority(client);
  const leaf = await sampleLeaf(authority, HOSTS, Date.now());
  const acl = `user ${REDIS.user} on >${secretText()} ~${REDIS.user}:* &${REDIS.user}:* +@all -@admin -@dangerous\n`;
  const values = { password: secretText(), rotationKey: secretText(), acl, authOverlap: OVERLAP };
  for (const { resource, body } of exampleObjects({ ...values, namespace, leaf, authority: authority.cert })) {
    await create(client, resource, body);
  }
  await namePrimary(client);
}

/** Nobody else does: without it each pod would be a primary of its own. */
async function namePrimary(client: KubeClient): Promise<void> {
  const { namespace, name } = REDIS;
  const { currentPrimary } = objectAt(await client.get(REDIS_CLUSTERS, { namespace, name }), ['status']);
  if (textIn(currentPrimary) !== '') return;
  const body = { status: { currentPrimary: EXAMPLE.pods[0] } };
  await client.patch(REDIS_CLUSTERS, { namespace, name }, body, { type: 'merge', subresource: 'status' });
}

/** Returns when every pod is ready and every replica follows; the primary comes first. */
export async function waitForRedis(client: KubeClient, signal: AbortSignal): Promise<readonly RedisNode[]> {
  let nodes: readonly RedisNode[] = [];
  await until('the pods of Redis being ready', signal, async () => {
    const pods = await Promise.all(EXAMPLE.pods.map((pod) => podNamed(client, pod)));
    nodes = pods.flatMap((pod, at) => {
      const host = pod && isReady(pod) ? textIn(objectAt(pod, ['status'])['podIP']) : '';
      return host === '' ? [] : [{ pod: EXAMPLE.pods[at] ?? '', host }];
    });
    return nodes.length === EXAMPLE.pods.length;
  });
  const ca = Buffer.from(await secretValue(client, EXAMPLE.caSecret, 'ca.crt'));
  const password = await secretValue(client, EXAMPLE.authSecret, 'password');
  const primary = textIn(objectAt(await redisCluster(client), ['status'])['currentPrimary']);
  for (const { pod, host } of nodes) {
    const sign = pod === primary ? /^role:master\r?$/m : /^master_link_status:up\r?$/m;
    await until(`the link of ${pod}`, signal, async () =>
      sign.test(await askRedis({ host, ca, passwords: [password] }, 'INFO', 'replication')),
    );
  }
  await until('the users of the ACL text', signal, () => haveUsers(client));
  return nodes.toSorted((a, b) => Number(b.pod === primary) - Number(a.pod === primary));
}

/** Whether every agent says that the users are in place: at a first start they may come a moment after the default user. */
async function haveUsers(client: KubeClient): Promise<boolean> {
  const { instancesStatus } = objectAt(await redisCluster(client), ['status']);
  const stateOf = (pod: string) => objectIn(objectIn(objectIn(instancesStatus)[pod])['acl'])['state'];
  return EXAMPLE.pods.every((pod) => stateOf(pod) === 'Applied');
}

/** What a Redis answers to one command of the user default; '' while it answers nothing. */
export async function askRedis(
  { host, ca, passwords }: { readonly host: string; readonly ca: Buffer; readonly passwords: readonly string[] },
  ...words: readonly string[]
): Promise<string> {
  const credentials = () => passwords.map((password) => ({ user: 'default', password }));
  try {
    const connection = await connectRedis({ host, port: REDIS_PORT, tls: { ca } }, { credentials });
    try {
      return String(await connection.send(...words));
    } finally {
      connection.close();
    }
  } catch (error) {
    if (error instanceof RedisRefusal || error instanceof RedisUnreachable) return '';
    throw error;
  }
}

export const redisCluster = (client: KubeClient): Promise<KubeObject> =>
  client.get(REDIS_CLUSTERS, { namespace: REDIS.namespace, name: REDIS.name });

/** The value of a key of one of the example's Secrets. */
export async function secretValue(client: KubeClient, name: string, key: string): Promise<string> {
  const { data } = await client.get<DataObject>(SECRETS, { namespace: REDIS.namespace, name });
  return Buffer.from(data?.[key] ?? '', 'base64').toString();
}

/** Another certificate of the same authority. */
export async function nextLeaf(client: KubeClient): Promise<SamplePair> {
  return await sampleLeaf(await theAuthority(client), HOSTS, Date.now());
}

async function theAuthority(client: KubeClient): Promise<SamplePair> {
  const ref = { namespace: REDIS.namespace, name: AUTHORITY_SECRET };
  const found = await client.get<DataObject>(SECRETS, ref).catch(unlessAbsent);
  const text = (key: string) => Buffer.from(found?.data?.[key] ?? '', 'base64').toString();
  if (found) return { cert: text('cert'), key: text('key') };
  const made = await sampleAuthority(Date.now());
  await create(client, SECRETS, { metadata: ref, stringData: made } as unknown as KubeObject);
  return made;
}

export const secretText = (): string => randomBytes(16).toString('hex');

async function isServed(client: KubeClient): Promise<boolean> {
  try {
    for await (const _ of client.list(REDIS_CLUSTERS, { namespace: REDIS.namespace })) return true;
    return true;
  } catch (error) {
    if (KubeError.is(error, 'NotFound')) return false;
    throw error;
  }
}

/** An object that exists stays as it is. */
async function create(client: KubeClient, resource: Resource, body: KubeObject): Promise<void> {
  const apiVersion = resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
  const whole = { apiVersion, kind: resource.kind, ...body };
  await client.create(resource, body.metadata.namespace, whole).catch((error: unknown) => {
    if (!KubeError.is(error, 'AlreadyExists')) throw error;
  });
}

const podNamed = (client: KubeClient, name: string): Promise<KubeObject | undefined> =>
  client.get(PODS, { namespace: REDIS.namespace, name }).catch(unlessAbsent);

function isReady(pod: KubeObject): boolean {
  const { conditions } = objectAt(pod, ['status']);
  const all = Array.isArray(conditions) ? conditions.map(objectIn) : [];
  return all.some(({ type, status }) => type === 'Ready' && status === 'True');
}

/** Asks again and again; fails after a minute and a half. */
export async function until(what: string, signal: AbortSignal, isSo: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS;
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`${DEADLINE_MS / 1000} s were not enough for ${what}`);
    await delay(INTERVAL_MS, undefined, { signal });
  }
}
