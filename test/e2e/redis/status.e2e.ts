import { createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { writeKubeconfig } from '../../../src/sandbox/control-plane/write-kubeconfig.ts';
import { faultProxy } from '../../support/proxy.ts';
import { makeRedisAuthority, makeRedisLeaf, tlsFiles } from '../../support/redis-certificates.ts';
import { ApiRefusal, api } from '../../support/sandbox.ts';
import { until } from '../../support/wait.ts';
import { anotherPass, calls, infoOf } from './looks.ts';
import type { RedisNode } from './redis-node.ts';
import { auditOf, RedisWorld, type TestCluster } from './redis-world.ts';

const world = await RedisWorld.create('redis-status');
const proxy = await faultProxy();
/** A replica is not made to wait for others that might come. */
const atOnce = { 'repl-diskless-sync-delay': '0' };

const userOf = ({ namespace, name }: TestCluster): string => `system:serviceaccount:${namespace}:${name}`;
const isLinked = ({ masterLinkStatus }: { masterLinkStatus?: string | undefined }) => masterLinkStatus === 'up';

describe.concurrent('the status', () => {
  it('A14 1,000 events of others: no CONFIG SET, at most one patch per interval, and nothing of theirs is lost', async () => {
    const flags = ['--status-interval=1s', '--resync=200ms'];
    const cluster = await world.cluster({ flags, spec: { redis: { timeout: '77' } } });
    const node = cluster.node(0);
    await cluster.start();
    const sets = await calls(node, 'config|set');
    const patches = () => auditOf(userOf(cluster)).filter(({ verb }) => verb === 'patch').length;
    const before = patches();
    const began = performance.now();
    const lastSeenAt = (at: number) => new Date(1e12 + at * 1000).toISOString().replace('.000', '');
    let sent = 0;
    const write = async () => {
      for (; sent < 1000; ) {
        sent += 1;
        const at = sent;
        // A number of its own that moves all the time, so that there is something to write.
        await node.send('SET', `k${at}`, 'x');
        await cluster.status({
          instancesStatus: {
            [`other-${at % 5}`]: { replicationOffset: at, role: 'slave', connected: true },
            [node.name]: { lastSeenAt: lastSeenAt(at), nodeID: `n${at}` },
          },
        });
      }
    };
    await Promise.all([write(), write(), write()]);
    const written = patches() - before;
    const seconds = (performance.now() - began) / 1000;
    expect(written).toBeLessThanOrEqual(Math.ceil(seconds) + 1);
    expect(await calls(node, 'config|set')).toBe(sets);
    const { lastSeenAt: seen } = (await cluster.until(node.name, ({ keys }) => keys === 1000, 'with all keys')) as {
      lastSeenAt?: string;
    };
    expect(seen).toMatch(/^2001-09-09T0[12]:/);
    expect(patches() - before).toBeGreaterThan(1);
    const others = (await cluster.get())['status'].instancesStatus;
    expect(Object.keys(others).toSorted()).toEqual(
      [node.name, ...[0, 1, 2, 3, 4].map((at) => `other-${at}`)].toSorted(),
    );
  });

  it('ST1 to ST6 each pod writes its own fields of its own entry, after all changes', async () => {
    const cluster = await world.cluster({
      pods: 2,
      spec: { redis: atOnce },
      flags: ['--status-interval=200ms', '--resync=500ms'],
    });
    const [primary, replica] = [cluster.node(0), cluster.node(1)];
    const audited = auditOf(userOf(cluster)).length;
    await cluster.start();
    const theirs = { lastSeenAt: '2026-01-02T03:04:05Z', nodeID: 'abc', clusterState: 'ok', currentEpoch: 7 };
    await cluster.status({ instancesStatus: { [primary.name]: theirs } });
    await cluster.until(replica.name, isLinked, 'linked');
    await primary.send('SET', 'colour', 'green');
    const reached = Number((await infoOf(primary, 'replication')).get('master_repl_offset'));
    const isThere = ({ replicationOffset = 0 }) => replicationOffset >= reached;
    const first = await cluster.until(primary.name, isThere, 'with its offset');
    expect(first).toMatchObject({ role: 'master', connected: true, connectedReplicas: 1, state: 'Running', ...theirs });
    expect(first.masterLinkStatus).toBeUndefined();
    const second = await cluster.until(replica.name, isThere, 'with its offset');
    expect(second).toMatchObject({ role: 'slave', connected: true, masterLinkStatus: 'up', keys: 1 });
    expect(second.connectedReplicas).toBeUndefined();
    const now = Number((await infoOf(replica, 'replication')).get('slave_repl_offset'));
    expect(second.replicationOffset).toBeLessThanOrEqual(now);
    // A pod whose role changes says so at once, with what no longer is taken out.
    await cluster.status({ currentPrimary: replica.name });
    const demoted = await cluster.until(primary.name, isLinked, 'a replica');
    expect(demoted.connectedReplicas).toBeUndefined();
    expect(demoted).toMatchObject(theirs);

    const writes = auditOf(userOf(cluster))
      .slice(audited)
      .filter(({ verb, requestURI }) => verb !== 'get' && verb !== 'watch' && requestURI.includes('/redisclusters'));
    expect(new Set(writes.map(({ verb }) => verb))).toEqual(new Set(['patch', 'list']));
    for (const { requestURI, responseStatus, verb } of writes) {
      if (verb === 'patch') expect(requestURI).toContain(`/redisclusters/${cluster.name}/status?`);
      expect(responseStatus?.code).toBe(200);
    }
    const managed = (await cluster.get()).metadata as unknown as { managedFields: readonly Managed[] };
    const own = managed.managedFields.filter(({ manager }) => manager === 'attune-agent');
    expect(own.map(({ subresource }) => subresource)).toEqual(['status']);
    expect(Object.keys(own[0]?.fieldsV1['f:status'] ?? {})).toEqual(['f:instancesStatus']);
  });

  it('ST7 makes the map where there is none', async () => {
    const cluster = await world.cluster({ primary: '' });
    expect((await cluster.get())['status']).toBeUndefined();
    await cluster.start();
    expect((await cluster.get())['status']).toMatchObject({
      instancesStatus: { [cluster.node(0).name]: { role: 'master' } },
    });
  });
});

interface Managed {
  readonly manager: string;
  readonly subresource?: string;
  readonly fieldsV1: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

describe.concurrent('the rights of an agent', () => {
  it('G5 are enough for all that it does, and do not reach Secrets', async () => {
    const authority = await makeRedisAuthority();
    const leaf = await makeRedisLeaf(authority);
    const cluster = await world.cluster({
      pods: 2,
      spec: {
        redis: { ...atOnce, timeout: '77', hz: 'often', databases: '20' },
        ...{ authSecret: { name: 'auth' }, aclConfigSecret: { name: 'acl' }, rotationKeySecret: { name: 'key' } },
        ...{ tlsSecret: { name: 'tls' }, caSecret: { name: 'ca' }, authOverlap: '0s' },
      },
      secrets: { auth: { password: 'one' }, acl: { acl: 'user app on >app ~* +@all' }, key: { key: 'k' } },
      tls: tlsFiles(leaf, authority),
    });
    const audited = auditOf(userOf(cluster)).length;
    for (const node of cluster.nodes) node.start();
    const [first, second] = [cluster.node(0), cluster.node(1)];
    await cluster.until(second.name, isLinked, 'linked');
    const { credentials: before } = await cluster.until(
      first.name,
      ({ credentials }) => credentials?.id !== undefined,
      'settled',
    );
    for (const node of cluster.nodes) {
      await node.project({ auth: { password: 'two' } });
      await node.mountTls(tlsFiles(await makeRedisLeaf(authority), authority));
    }
    const isRotated = ({
      credentials,
    }: {
      credentials?: { id?: string | undefined; phase?: string | undefined } | undefined;
    }) => credentials?.id !== before?.id && credentials?.phase === 'Settled';
    for (const node of cluster.nodes) await cluster.until(node.name, isRotated, 'with the new password');
    await cluster.status({ currentPrimary: second.name });
    await cluster.until(first.name, isLinked, 'a replica');
    await cluster.fence(first.name);
    await cluster.until(first.name, ({ state }) => state === 'Fenced', 'fenced');
    await cluster.untilEvent('InstanceFenced');
    await first.signal('SIGTERM');

    const asked = auditOf(userOf(cluster)).slice(audited);
    expect(asked.filter(({ responseStatus }) => responseStatus?.code === 403)).toEqual([]);
    expect(new Set(asked.map(kindOfRequest))).toEqual(
      new Set(['list redisclusters', 'watch redisclusters', 'patch redisclusters', 'get pods', 'create events']),
    );
    const own = api(cluster.access);
    for (const path of ['secrets', 'secrets/auth'])
      await expect(own.get(`/api/v1/namespaces/${cluster.namespace}/${path}`)).rejects.toMatchObject({ status: 403 });
    await expect(own.get(`/apis/redis.io/v1/namespaces/${cluster.namespace}/redisclusters`)).rejects.toThrow(
      ApiRefusal,
    );
  });
});

/** `patch redisclusters`; a repeated Event is a patch of the first. */
const kindOfRequest = ({ verb, requestURI }: { verb: string; requestURI: string }): string => {
  const [, kind = requestURI] = /\/namespaces\/[^/]+\/([a-z]+)/.exec(requestURI) ?? [];
  return kind === 'events' ? 'create events' : `${verb} ${kind}`;
};

describe.concurrent('the pages of an agent', () => {
  it('probes, metrics and status, each for its methods', async () => {
    const cluster = await world.cluster({ primary: '' });
    const node = cluster.node(0);
    await cluster.start();
    for (const path of ['/healthz', '/readyz']) {
      expect(await node.ask(path)).toEqual({ status: 200, body: 'ok' });
      expect(await node.ask(path, 'POST')).toMatchObject({ status: 200 });
    }
    const metrics = (await node.ask('/metrics')).body.split('\n').filter((line) => line.startsWith('redis_'));
    expect(new Set(metrics.map((line) => line.split('{')[0])).size).toBeGreaterThanOrEqual(28);
    const labels = `{namespace="${cluster.namespace}",cluster="${cluster.name}",pod="${node.name}",role="master"}`;
    expect(metrics.filter((line) => !line.includes(labels))).toEqual([]);
    expect(metrics).toContain(`redis_up${labels} 1`);
    const { status, body } = await node.ask('/v1/status');
    expect(status).toBe(200);
    expect(JSON.parse(body)).toEqual({ role: 'master', connected: true, replicationOffset: 0, connectedReplicas: 0 });
    const wrong = [
      ['/v1/status', 'POST', 405],
      ['/v1/promote', 'GET', 405],
      ['/v1/demote', 'PUT', 405],
      ['/v1/demote', 'POST', 400],
      ['/v1/demote?primaryIP=127.0.0.1&port=0', 'POST', 400],
      ['/v1/demote?primaryIP=a%20b', 'POST', 400],
      [`/v1/demote?primaryIP=${node.address}`, 'POST', 400],
      ['/constructor', 'GET', 404],
    ] as const;
    for (const [path, method, code] of wrong) expect((await node.ask(path, method)).status, path).toBe(code);
    expect(await calls(node, 'replicaof')).toBe(0);
    expect(await node.ask('/v1/demote?primaryIP=127.0.0.1&port=1', 'POST')).toEqual({ status: 200, body: 'demoted' });
    expect(JSON.parse((await node.ask('/v1/status')).body)).toMatchObject({ role: 'slave', masterLinkStatus: 'down' });
    expect(await node.ask('/v1/promote', 'POST')).toEqual({ status: 200, body: 'promoted' });
    expect((await infoOf(node, 'replication')).get('role')).toBe('master');
  });

  it('to change the role is for this pod alone', async ({ skip }) => {
    const outside = Object.values(networkInterfaces())
      .flat()
      .find((one) => one && !one.internal && one.family === 'IPv4');
    if (!outside) return skip('this machine has no address but loopback');
    const port = await freePort();
    const cluster = await world.cluster({ flags: [`--listen=0.0.0.0:${port}`] });
    await cluster.start();
    const ask = (host: string, path: string) => fetch(`http://${host}:${port}${path}`, { method: 'POST' });
    for (const path of ['/v1/promote', '/v1/demote?primaryIP=127.0.0.1&port=1']) {
      const answer = await ask(outside.address, path);
      expect(answer.status).toBe(403);
      expect(await answer.text()).toContain('only from this pod itself');
    }
    expect(await calls(cluster.node(0), 'replicaof')).toBe(0);
    expect((await ask('127.0.0.1', '/v1/promote')).status).toBe(200);
  });

  it('a primary that is cut off from API server and peers is not healthy, and is again when it is not', async () => {
    const primaryIsolation = { apiServerTimeout: '500ms', peerTimeout: '5s' };
    const cluster = await world.cluster({ pods: 2, spec: { primaryIsolation, redis: atOnce } });
    const [primary, replica] = [cluster.node(0), cluster.node(1)];
    const kubeconfig = join(primary.folders.projected, '..', 'by-proxy');
    writeKubeconfig(kubeconfig, 'e2e', { ...cluster.access, server: proxy.access.server });
    primary.start([], { KUBECONFIG: kubeconfig });
    replica.start();
    await cluster.until(replica.name, isLinked, 'linked');
    await cluster.until(primary.name, ({ connectedReplicas }) => connectedReplicas === 1, 'with a replica');
    // One that knows of the replica: by its address it is asked later.
    await anotherPass(primary);
    const health = async (node: RedisNode) => (await node.ask('/healthz')).status;
    expect(await health(primary)).toBe(200);
    proxy.setRules([{ fault: { type: 'silence' } }]);
    proxy.cutWatches();
    // A peer answers: whoever is cut off, it is not this pod alone.
    expect(await health(primary)).toBe(200);
    await replica.signal('SIGKILL');
    expect(await primary.ask('/healthz')).toEqual({
      status: 503,
      body: 'this primary reaches neither the API server nor any other pod',
    });
    // Redis itself goes on: whether it ends is for the kubelet to say.
    expect(await primary.send('SET', 'colour', 'green')).toBe('OK');
    proxy.setRules([]);
    await until(async () => (await health(primary)) === 200, { what: 'healthy again' });
  });
});

/** A port of which nobody listens at this moment. */
const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '0.0.0.0', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
