import { runController } from '../../src/controller/controller.ts';
import { aloneLeadership, electedLeadership, type Leadership } from '../../src/controller/leadership.ts';
import { Report } from '../../src/controller/report/report.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import type { Clock } from '../../src/runtime/clock.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { controllerMetrics } from '../../src/telemetry/metric-tables/controller.ts';
import { settings } from '../support/settings.ts';
import { type Cluster, type Json, refused } from './cluster.ts';
import { connect } from './connection.ts';

export const SHOP = 'shop';

/** A Deployment that asks to be rolled for these ConfigMaps. */
export function createDeployment(
  cluster: Cluster,
  name: string,
  uses: readonly string[],
  annotations: Json = {},
): void {
  const envFrom = uses.map((each) => ({ configMapRef: { name: each } }));
  const template = { metadata: {}, spec: { containers: [{ name: 'app', image: 'v1', env: [], envFrom }] } };
  cluster.create('deployments', SHOP, {
    metadata: { name, annotations: { 'reloader.stakater.com/auto': 'true', ...annotations } },
    spec: { replicas: 1, template },
    status: {},
  });
}

interface ReplicaOptions {
  readonly elects: boolean;
  /** Its own, where it differs from that of everybody else. */
  readonly clock?: Clock | undefined;
  readonly flags?: readonly string[];
}

// As long as the real client waits for an answer.
const IDLE_MS = 30_000;

/** One controller of several on a cluster. */
export function startReplica(
  cluster: Cluster,
  name: string,
  { elects, clock = cluster.clock, flags: more = [] }: ReplicaOptions,
) {
  const control = {
    /** Cut off: no call is answered. */
    isCut: false,
    /** Called when the server has carried a call out, before its answer arrives. */
    answering: async (_call: string): Promise<void> => {},
  };
  const calls: string[] = [];
  const warnings: string[] = [];
  const pause = (ms: number) => new Promise<void>((resolve) => void cluster.clock.after(ms, resolve));
  const { client, kill } = connect(cluster, { delayMs: () => 0, fate: () => 'answered' });
  const send = (verb: 'get' | 'create' | 'patch' | 'replace' | 'delete') => {
    const through = client[verb].bind(client) as (...args: Json[]) => Promise<Json>;
    return async (resource: Json, ref: Json, ...rest: Json[]): Promise<Json> => {
      const signal: AbortSignal | undefined = rest.at(-1)?.signal;
      const call = `${verb} ${resource.plural}/${ref?.name ?? rest[0]?.metadata?.name}`;
      const began = cluster.clock.now();
      while (control.isCut) {
        signal?.throwIfAborted();
        if (cluster.clock.now() - began >= IDLE_MS) throw refused('get', resource.plural, 0, 'Unreachable');
        await pause(50);
      }
      calls.push(call);
      const answer = await through(resource, ref, ...rest);
      await control.answering(call);
      return answer;
    };
  };
  const wrapped = {
    ...client,
    ...{
      get: send('get'),
      create: send('create'),
      patch: send('patch'),
      replace: send('replace'),
      delete: send('delete'),
    },
  } as unknown as KubeClient;
  const stop = new AbortController();
  const flags = ['--namespaces=shop', '--resources-to-ignore=secrets', '--ignored-workload-types=jobs,cronjobs'];
  const options = settings([...flags, ...more, ...(elects ? ['--enable-ha'] : [])], {
    POD_NAMESPACE: 'home',
    POD_NAME: name,
  });
  const metrics = controllerMetrics({ byNamespace: false });
  const log = createLog({
    ...{ format: '', level: 'warning', now: () => clock.wall() },
    write: (line) => void warnings.push(line.trim()),
  });
  const mayTell = (): boolean => leadership.mayWrite();
  const told = { log, metrics, clock, mayTell, ending: stop.signal };
  const report = new Report({ ...told, compat: false, post: () => {}, alert: () => {} });
  const leadership: Leadership = elects
    ? electedLeadership({
        ...{ client: wrapped, clock, report: report.system, namespace: 'home', identity: name, leadsOnce: false },
      })
    : aloneLeadership();
  const deps = { options, client: wrapped, clock, log, metrics, report, leadership, notify: undefined };
  const ended = runController({ ...deps, onReady: () => {}, onUnready: () => {} }, stop.signal);
  ended.catch((error: unknown) => warnings.push(`died: ${String(error)}`));
  return {
    ...{ control, calls, warnings, leadership },
    gauge: (metric: string): number => Number(new RegExp(`^${metric} (\\S+)`, 'm').exec(metrics.render())?.[1]),
    async end(): Promise<void> {
      kill();
      stop.abort(new Error('over'));
      await cluster.clock.run(1);
    },
  };
}
