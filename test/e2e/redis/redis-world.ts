import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { fileURLToPath } from 'node:url';
import { afterAll } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { FENCED_INSTANCES } from '../../../src/api/redis-cluster/annotations.ts';
import type { InstanceEntry } from '../../../src/domain/redis/cluster-view.ts';
import type { ApiAccess } from '../../../src/sandbox/control-plane/api-request.ts';
import { installKinds } from '../../support/crds.ts';
import { shippedProgram } from '../../support/programs.ts';
import { type AnyObject, api, controlPlane, namespace, serviceAccountAccess } from '../../support/sandbox.ts';
import { until } from '../../support/wait.ts';
import { RedisNode } from './redis-node.ts';

const example = parseAllDocuments(
  readFileSync(fileURLToPath(new URL('../../../deploy/redis/example.yaml', import.meta.url)), 'utf8'),
).map((document) => document.toJS() as AnyObject);

/** The rights of an agent are those of the example that is shipped. */
const RULES = example.find(({ kind }) => kind === 'Role')?.['rules'] as readonly AnyObject[];
/** Of Node, as the image has them. */
const IMAGE_FLAGS = ['--jitless'];
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const CLUSTERS = '/apis/redis.io/v1';

export interface ClusterOptions {
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Without a word: the first pod. '': nobody. */
  readonly primary?: string;
  readonly pods?: number;
  /** Flags of all agents. */
  readonly flags?: readonly string[];
  /** Projected Secrets of all pods: by name, their keys. */
  readonly secrets?: Secrets;
  readonly tls?: Readonly<Record<string, string>>;
}

export type Secrets = Readonly<Record<string, Readonly<Record<string, string | Buffer>>>>;

/** A namespace for the RedisClusters of a test file. */
export class RedisWorld {
  readonly namespace: string;
  readonly #clearing: (() => Promise<void>)[] = [];

  private constructor(name: string) {
    this.namespace = name;
  }

  /** Once per file. What runs is what is shipped: the bundle. */
  static async create(prefix: string): Promise<RedisWorld> {
    await installKinds(['RedisCluster']);
    const world = new RedisWorld(await namespace(prefix));
    afterAll(() => Promise.all(world.#clearing.map((clear) => clear())).then(() => undefined));
    return world;
  }

  /** A RedisCluster of its own with its pods, whose agents are not started yet; all is gone after the file. */
  async cluster(options: ClusterOptions = {}): Promise<TestCluster> {
    const name = `r${randomBytes(3).toString('hex')}`;
    const folder = await mkdtemp('/tmp/rw-');
    const admin = api();
    const path = `${CLUSTERS}/namespaces/${this.namespace}/redisclusters`;
    const { spec = {}, annotations = {}, primary = `${name}-0`, pods = 1 } = options;
    await admin.create(path, {
      apiVersion: 'redis.io/v1',
      kind: 'RedisCluster',
      metadata: { name, annotations },
      spec: { instances: pods, ...spec },
    });
    if (primary !== '') await admin.patch(`${path}/${name}/status`, { status: { currentPrimary: primary } });
    const access = await this.#account(name);
    const cluster = new TestCluster(this.namespace, name, access);
    for (let at = 0; at < pods; at += 1) {
      const node = new RedisNode({
        cluster: name,
        namespace: this.namespace,
        name: `${name}-${at}`,
        folder: join(folder, String(at)),
        access,
        program: [execPath, ...IMAGE_FLAGS, shippedProgram()],
        flags: options.flags ?? [],
      });
      await mkdir(node.folders.data, { recursive: true });
      await cluster.addPod(node);
      await node.project(options.secrets ?? {});
      if (options.tls) await node.mountTls(options.tls);
    }
    this.#clearing.push(async () => {
      await Promise.all(cluster.nodes.map((node) => node.end()));
      await rm(folder, { recursive: true, force: true });
    });
    return cluster;
  }

  async #account(name: string): Promise<ApiAccess> {
    const admin = api();
    const { namespace: space } = this;
    await admin.create(`/api/v1/namespaces/${space}/serviceaccounts`, { metadata: { name } });
    const rules = RULES.map((rule) => ('resourceNames' in rule ? { ...rule, resourceNames: [name] } : rule));
    await admin.create(`${RBAC}/namespaces/${space}/roles`, { metadata: { name }, rules });
    await admin.create(`${RBAC}/namespaces/${space}/rolebindings`, {
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
      subjects: [{ kind: 'ServiceAccount', name, namespace: space }],
    });
    const access = await serviceAccountAccess(space, name);
    const own = api(access);
    const mine = `${CLUSTERS}/namespaces/${space}/redisclusters/${name}`;
    await until(() => own.get(mine), { what: `the rights of ${name}` });
    return access;
  }
}

/** A RedisCluster and its pods, as whoever runs it sees them. */
export class TestCluster {
  readonly namespace: string;
  readonly name: string;
  readonly access: ApiAccess;
  readonly nodes: RedisNode[] = [];
  readonly #path: string;

  constructor(namespaceName: string, name: string, access: ApiAccess) {
    this.namespace = namespaceName;
    this.name = name;
    this.access = access;
    this.#path = `${CLUSTERS}/namespaces/${namespaceName}/redisclusters/${name}`;
  }

  /** A Pod object that nobody runs; what runs is the node. */
  async addPod(node: RedisNode): Promise<void> {
    const pods = `/api/v1/namespaces/${this.namespace}/pods`;
    await api().create(pods, {
      metadata: { name: node.name, labels: { 'redis.io/cluster': this.name } },
      spec: {
        schedulerName: 'nobody',
        serviceAccountName: this.name,
        containers: [{ name: 'redis', image: 'attune-redis' }],
      },
    });
    await this.setPodIp(node.name, node.address);
    this.nodes.push(node);
  }

  async setPodIp(pod: string, ip: string): Promise<void> {
    const path = `/api/v1/namespaces/${this.namespace}/pods/${pod}/status`;
    await api().patch(path, { status: { podIP: ip, podIPs: ip === '' ? [] : [{ ip }] } });
  }

  async deletePod(pod: string): Promise<void> {
    await api().delete(`/api/v1/namespaces/${this.namespace}/pods/${pod}?gracePeriodSeconds=0`);
  }

  node(at: number): RedisNode {
    const node = this.nodes[at];
    if (!node) throw new Error(`there is no pod ${at}`);
    return node;
  }

  /** Starts all agents, and waits until each says that it runs. */
  async start(): Promise<void> {
    for (const node of this.nodes) node.start();
    await Promise.all(this.nodes.map((node) => this.until(node.name, ({ state }) => state === 'Running', 'Running')));
  }

  get(): Promise<AnyObject> {
    return api().get(this.#path);
  }

  async patch(body: object): Promise<void> {
    await api().patch(this.#path, body);
  }

  spec(change: object): Promise<void> {
    return this.patch({ spec: change });
  }

  annotate(annotations: Readonly<Record<string, string | null>>): Promise<void> {
    return this.patch({ metadata: { annotations } });
  }

  /** Fences exactly these. */
  fence(...pods: readonly string[]): Promise<void> {
    return this.annotate({ [FENCED_INSTANCES]: pods.length === 0 ? null : JSON.stringify(pods) });
  }

  async status(change: object): Promise<void> {
    await api().patch(`${this.#path}/status`, { status: change });
  }

  async delete(): Promise<void> {
    await api().delete(this.#path);
  }

  async entry(pod: string): Promise<InstanceEntry | undefined> {
    return (await this.get())['status']?.instancesStatus?.[pod];
  }

  /** Waits until the entry of a pod is so. */
  async until(pod: string, isSo: (entry: InstanceEntry) => boolean, what: string): Promise<InstanceEntry> {
    let last: InstanceEntry | undefined;
    try {
      return await until(
        async () => {
          last = await this.entry(pod);
          return last && isSo(last) ? last : undefined;
        },
        { what: `${pod} ${what}` },
      );
    } catch (error) {
      const node = this.nodes.find(({ name }) => name === pod);
      const said = `${JSON.stringify(last)}\n${node?.lines.slice(-40).join('\n')}`;
      throw new Error(`${pod} ${what}: in vain; ${said}`, { cause: error });
    }
  }

  /** Events on the RedisCluster, by their reasons. */
  async events(): Promise<readonly AnyObject[]> {
    const all = await api().list(`/api/v1/namespaces/${this.namespace}/events`);
    return all.filter(({ involvedObject }) => involvedObject.name === this.name);
  }

  async reasons(): Promise<readonly string[]> {
    return (await this.events()).map(({ reason }) => reason as string).sort();
  }

  untilEvent(reason: string, matching = /(?:)/): Promise<AnyObject> {
    const found = async () =>
      (await this.events()).find((event) => event['reason'] === reason && matching.test(String(event['message'])));
    return until(found, { what: `an Event ${reason} ${matching}` });
  }
}

/** Requests that somebody sent to the shared control plane, from its audit log. */
export function auditOf(user: string): readonly AuditLine[] {
  // The last line may still be on its way to the file.
  const lines = readFileSync(controlPlane().auditLog, 'utf8').split('\n').slice(0, -1);
  return lines.flatMap((line) => {
    if (!line.includes(user)) return [];
    const entry = JSON.parse(line) as AuditLine;
    return entry.user.username === user ? [entry] : [];
  });
}

export interface AuditLine {
  readonly user: { readonly username: string };
  readonly verb: string;
  readonly requestURI: string;
  readonly responseStatus?: { readonly code: number };
}
