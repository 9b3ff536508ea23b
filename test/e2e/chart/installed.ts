import { readFileSync } from 'node:fs';
import { podRunner } from '../../support/pod-runner.ts';
import { type FaultProxy, faultProxy } from '../../support/proxy.ts';
import { type AnyObject, api, type ControlPlane, ownControlPlane } from '../../support/sandbox.ts';
import { until } from '../../support/wait.ts';
import { CHART, helmOrThrow, type Values } from './helm.ts';

/** Roles, ClusterRoles and what they grant, as the API server has them. */
interface Rule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly verbs: readonly string[];
}

/** One line of the audit log. */
interface AuditEntry {
  readonly verb: string;
  readonly requestURI: string;
  readonly user: { readonly username: string };
  readonly objectRef?: { readonly resource?: string; readonly apiGroup?: string; readonly subresource?: string };
  readonly responseStatus?: { readonly code?: number };
}

export const TOOLS = 'tools';

/**
 * A control plane of the test's own, where releases are installed by helm and their pods run as processes. Its own,
 * because a release that watches all namespaces would meddle with the tests of others.
 */
export class ChartCluster {
  readonly plane: ControlPlane;
  readonly admin: ReturnType<typeof api>;
  /** All that the pods ask goes through it. */
  readonly proxy: FaultProxy;

  private constructor(plane: ControlPlane, proxy: FaultProxy) {
    this.plane = plane;
    this.admin = api(plane);
    this.proxy = proxy;
  }

  static async start(): Promise<ChartCluster> {
    const { plane } = await ownControlPlane({ audit: 'metadata' });
    const proxy = await faultProxy({ plane });
    const cluster = new ChartCluster(plane, proxy);
    await cluster.namespace(TOOLS);
    await podRunner({ plane: { ...plane, ...proxy.access }, namespace: TOOLS });
    return cluster;
  }

  async namespace(name: string, labels: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.admin.create('/api/v1/namespaces', { metadata: { name, labels } });
    const account = `/api/v1/namespaces/${name}/serviceaccounts/default`;
    await until(() => this.admin.find(account), { what: `the ServiceAccount of namespace ${name}` });
  }

  /** `helm upgrade --install`; waits until the pods are ready. Returns what helm says to the user. */
  install(release: string, values: Values, options: { readonly chart?: string; readonly wait?: boolean } = {}) {
    const waiting = options.wait === false ? [] : ['--wait', '--timeout', '180s'];
    return this.#helm(['upgrade', '--install', release, options.chart ?? CHART, ...waiting], values);
  }

  uninstall(release: string): Promise<string> {
    return this.#helm(['uninstall', release, '--wait', '--timeout', '180s']);
  }

  /** To the revision before; does not wait. */
  rollback(release: string): Promise<string> {
    return this.#helm(['rollback', release]);
  }

  #helm(args: readonly string[], values?: Values): Promise<string> {
    return helmOrThrow([...args, '--namespace', TOOLS, '--kubeconfig', this.plane.kubeconfig], values);
  }

  pods(release: string): Promise<readonly AnyObject[]> {
    return this.admin.list(`/api/v1/namespaces/${TOOLS}/pods?labelSelector=release%3D${release}`);
  }

  /** What the release's ServiceAccount has asked of the API server so far. */
  requests(account: string): readonly AuditEntry[] {
    // The last line may still be on its way to the file.
    const lines = readFileSync(this.plane.auditLog, 'utf8').split('\n').slice(0, -1);
    const username = `system:serviceaccount:${TOOLS}:${account}`;
    return lines
      .filter((line) => line.includes(username))
      .map((line) => JSON.parse(line) as AuditEntry)
      .filter(({ user }) => user.username === username);
  }

  refusals(account: string): readonly string[] {
    const refused = this.requests(account).filter(({ responseStatus }) => responseStatus?.code === 403);
    return [...new Set(refused.map(({ verb, requestURI }) => `${verb} ${requestURI}`))];
  }

  /** Everything granted to the release, as `group/resource verb`. */
  async grants(release: string): Promise<ReadonlySet<string>> {
    const selector = `?labelSelector=release%3D${release}`;
    const roles = await Promise.all(
      ['clusterroles', 'roles'].map((kind) => this.admin.list(`/apis/rbac.authorization.k8s.io/v1/${kind}${selector}`)),
    );
    // Those that are aggregated are for people.
    const isForPeople = ({ metadata }: AnyObject) =>
      Object.keys(metadata.labels ?? {}).some((key) => /aggregate-to/.test(key));
    const own = roles.flat().filter((role) => !isForPeople(role));
    const rules = own.flatMap((role) => role['rules'] as Rule[]);
    return new Set(
      rules.flatMap(({ apiGroups = [], resources = [], verbs }) =>
        apiGroups.flatMap((group) => resources.flatMap((each) => verbs.map((verb) => `${group}/${each} ${verb}`))),
      ),
    );
  }

  /** What was really asked for, in the same words. */
  uses(account: string): ReadonlySet<string> {
    return new Set(
      this.requests(account).flatMap(({ verb, objectRef }) => {
        const { apiGroup = '', resource, subresource } = objectRef ?? {};
        return resource ? [`${apiGroup}/${subresource ? `${resource}/${subresource}` : resource} ${verb}`] : [];
      }),
    );
  }
}
