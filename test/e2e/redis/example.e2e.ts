import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { EVENTS, PODS, REDIS_CLUSTERS, SECRETS } from '../../../src/api/resources.ts';
import type { ApiAccess } from '../../../src/sandbox/control-plane/api-request.ts';
import { installKinds } from '../../support/crds.ts';
import { type AnyObject, ApiRefusal, api, namespace, serviceAccountAccess } from '../../support/sandbox.ts';
import { until } from '../../support/wait.ts';

const text = (name: string): string => readFileSync(new URL(`../../../deploy/redis/${name}`, import.meta.url), 'utf8');
const objectsIn = (yaml: string): readonly AnyObject[] =>
  parseAllDocuments(yaml).flatMap((document) => (document.toJS() as AnyObject | null) ?? []);

/** As the comment at the top of the example says. */
const withTls = (yaml: string): string => yaml.replaceAll('#tls ', '');

const EXAMPLES: Readonly<Record<string, readonly AnyObject[]>> = {
  'example.yaml': objectsIn(text('example.yaml')),
  'example.yaml with TLS': objectsIn(withTls(text('example.yaml'))),
  'example-sidecar.yaml': objectsIn(text('example-sidecar.yaml')),
};

const PLURALS: Readonly<Record<string, string>> = {
  RedisCluster: 'redisclusters',
  Secret: 'secrets',
  ServiceAccount: 'serviceaccounts',
  Role: 'roles',
  RoleBinding: 'rolebindings',
  Service: 'services',
  PodDisruptionBudget: 'poddisruptionbudgets',
  StatefulSet: 'statefulsets',
};

/** Where objects of this kind are created. */
function pathFor({ apiVersion, kind }: AnyObject, space: string): string {
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  return `${root}/namespaces/${space}/${PLURALS[kind]}`;
}

beforeAll(() => installKinds(['RedisCluster']));

describe.each(Object.entries(EXAMPLES))('%s', (_, objects) => {
  const of = (kind: string): AnyObject => {
    const [found, ...more] = objects.filter((each) => each.kind === kind);
    if (found === undefined || more.length > 0) throw new Error(`not one ${kind}`);
    return found;
  };
  const template = of('StatefulSet')['spec'].template;
  const agent = template.spec.containers.at(-1);
  const secretsOf = (volume: string) =>
    template.spec.volumes.find(({ name }: { name: string }) => name === volume)?.projected.sources;

  it('is accepted by the API server, and says nothing that it does not know', async () => {
    const space = await namespace('redis-example');
    for (const object of objects)
      await api().create(`${pathFor(object, space)}?dryRun=All&fieldValidation=Strict`, object);
  });

  it('projects each Secret that the RedisCluster names, by the path that the agent reads', () => {
    const { authSecret, aclConfigSecret, rotationKeySecret } = of('RedisCluster')['spec'];
    const wanted = [
      [authSecret, 'password'],
      [aclConfigSecret, 'acl'],
      [rotationKeySecret, 'key'],
    ].flatMap(([secret, key]) =>
      secret ? [{ secret: { name: secret.name, items: [{ key, path: `${secret.name}/${key}` }] } }] : [],
    );
    expect(secretsOf('projected')).toEqual(wanted);
    const made = objects.filter(({ kind }) => kind === 'Secret').map(({ metadata }) => metadata.name);
    expect(made.toSorted()).toEqual(wanted.map(({ secret }) => secret.name).toSorted());
  });

  it('mounts certificates exactly if the RedisCluster has some', () => {
    const { tlsSecret, caSecret } = of('RedisCluster')['spec'];
    const mounted = agent.volumeMounts.some(({ mountPath }: { mountPath: string }) => mountPath === '/tls');
    expect(mounted).toBe(tlsSecret !== undefined);
    const names = secretsOf('tls')?.map(({ secret }: { secret: { name: string } }) => secret.name);
    expect(names).toEqual(tlsSecret && [tlsSecret.name, caSecret.name]);
  });

  it('has the image of this version', () => {
    const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'));
    expect(agent.image).toBe(`attune-redis:${version}`);
  });

  it('tells the agent who it is, and gives it time to stop Redis', () => {
    const names = agent.env.map(({ name }: { name: string }) => name);
    expect(names).toEqual(['CLUSTER_NAME', 'POD_NAME', 'POD_NAMESPACE', 'POD_IP']);
    expect(agent.env[0].value).toBe(of('RedisCluster').metadata.name);
    const isParent = !agent.args?.includes('--mode=sidecar');
    expect(template.spec.terminationGracePeriodSeconds ?? 0).toBeGreaterThanOrEqual(isParent ? 30 : 0);
  });

  it('never lets a probe wait for a Redis that may be fenced, but for readiness', () => {
    const paths = ['startupProbe', 'livenessProbe'].map((name) => agent[name].httpGet.path);
    expect(paths).toEqual(['/healthz', '/healthz']);
    // A sidecar has none: its Redis has one of its own.
    expect(agent.readinessProbe?.httpGet.path ?? '/readyz').toBe('/readyz');
  });

  it('runs as nobody in particular, and in a file system that it cannot write to', () => {
    expect(template.spec.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 999, fsGroup: 999 });
    expect(agent.securityContext).toMatchObject({ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true });
  });
});

/** An agent's account in a namespace of its own, with the object and a neighbour's. */
async function agentOf(objects: readonly AnyObject[]) {
  const admin = api();
  const space = await namespace('redis-rights');
  for (const object of objects)
    if (/^(RedisCluster|Secret|ServiceAccount|Role|RoleBinding)$/.test(object.kind))
      await admin.create(pathFor(object, space), object);
  const cluster = objects.find(({ kind }) => kind === 'RedisCluster') as AnyObject;
  const { name } = cluster.metadata;
  await admin.create(pathFor(cluster, space), { ...cluster, metadata: { name: 'other' } });
  await admin.create(`/api/v1/namespaces/${space}/pods`, {
    metadata: { name: 'peer' },
    spec: { containers: [{ name: 'redis', image: 'redis' }], nodeSelector: { nowhere: 'yes' } },
  });
  const access = await serviceAccountAccess(space, name);
  const clusters = `/apis/${REDIS_CLUSTERS.group}/${REDIS_CLUSTERS.version}/namespaces/${space}/${REDIS_CLUSTERS.plural}`;
  await until(() => api(access).get(`${clusters}/${name}`), { what: 'the rights of the agent' });
  return { space, name, clusters, access, account: api(access) };
}

/** 403, and nothing else. */
async function forbidden(request: Promise<unknown>): Promise<void> {
  const refused = await request.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(refused).toBeInstanceOf(ApiRefusal);
  expect((refused as ApiRefusal).status).toBe(403);
}

interface Attributes {
  readonly group: string;
  readonly resource: string;
  readonly verb: string;
  readonly name?: string;
  readonly subresource?: string;
}

async function mayDo(access: ApiAccess, space: string, attributes: Attributes): Promise<boolean> {
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes: { namespace: space, ...attributes } },
  };
  const answer = await api(access).create('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', review);
  return answer['status'].allowed;
}

describe.each(['example.yaml', 'example-sidecar.yaml'])('the Role of %s', (file) => {
  const objects = EXAMPLES[file] ?? [];
  let agent: Awaited<ReturnType<typeof agentOf>>;
  beforeAll(async () => {
    agent = await agentOf(objects);
  });

  it('allows all that the agent does', async () => {
    const { account, clusters, name, space } = agent;
    const only = `fieldSelector=metadata.name%3D${name}`;
    expect((await account.list(`${clusters}?${only}`)).map(({ metadata }) => metadata.name)).toEqual([name]);
    // The whole of a watch of one object, to which nothing happens, is one event.
    const watched = () => account.get(`${clusters}?${only}&watch=true&timeoutSeconds=1`);
    expect(await until(watched, { what: 'a watch that begins in time' })).toMatchObject({ type: 'ADDED' });
    const status = { instancesStatus: { [`${name}-0`]: { role: 'master' } } };
    expect((await account.patch(`${clusters}/${name}/status`, { status }))['status']).toEqual(status);
    expect((await account.get(`/api/v1/namespaces/${space}/pods/peer`)).metadata.name).toBe('peer');
    const events = `/api/v1/namespaces/${space}/events`;
    const involvedObject = { apiVersion: 'redis.io/v1', kind: 'RedisCluster', name, namespace: space };
    await account.create(events, { metadata: { name: 'one' }, involvedObject, reason: 'ConfigReloaded', message: 'a' });
    expect((await account.patch(`${events}/one`, { count: 2 }))['count']).toBe(2);
  });

  it('forbids Secrets, the spec, other clusters, and everything else', async () => {
    const { account, clusters, name, space } = agent;
    const secrets = `/api/v1/namespaces/${space}/secrets`;
    await forbidden(account.get(`${secrets}/${name}-auth`));
    await forbidden(account.list(secrets));
    await forbidden(account.get(`${secrets}?watch=true&timeoutSeconds=1`));
    await forbidden(account.patch(`${clusters}/${name}`, { spec: { mode: 'cluster' } }));
    await forbidden(account.get(`${clusters}/other`));
    await forbidden(account.list(clusters));
    await forbidden(account.patch(`${clusters}/other/status`, { status: {} }));
    await forbidden(account.list(`/api/v1/namespaces/${space}/pods`));
  });

  it('has no right beyond these', async () => {
    const { access, space, name } = agent;
    const allowed: string[] = [];
    const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'];
    for (const [resource, subresource] of [
      [REDIS_CLUSTERS, ''],
      [REDIS_CLUSTERS, 'status'],
      [PODS, ''],
      [PODS, 'exec'],
      [EVENTS, ''],
      [SECRETS, ''],
    ] as const) {
      for (const verb of verbs) {
        const { group, plural } = resource;
        const attributes = { group, resource: plural, verb, name, ...(subresource && { subresource }) };
        if (await mayDo(access, space, attributes))
          allowed.push(`${verb} ${[plural, subresource].filter(Boolean).join('/')}`);
      }
    }
    expect(allowed).toEqual([
      ...['get redisclusters', 'list redisclusters', 'watch redisclusters', 'patch redisclusters/status'],
      ...['get pods', 'create events', 'patch events'],
    ]);
  });
});
