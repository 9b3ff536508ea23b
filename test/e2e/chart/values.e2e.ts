import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { installKinds } from '../../support/crds.ts';
import { until } from '../../support/wait.ts';
import { configPath } from '../reloader-config/config-world.ts';
import type { Values } from './helm.ts';
import { ChartCluster, TOOLS } from './installed.ts';
import { AUTO, change, type Place, pathOf, reaction, sources, traceOf, workload } from './workloads.ts';

const KINDS = ['Deployment', 'DaemonSet', 'StatefulSet', 'CronJob', 'Job'];

let cluster: ChartCluster;
let number = 0;
let release: string;
let account: string;

beforeAll(async () => {
  cluster = await ChartCluster.start();
  // One that can be guessed: whoever comes first replaces it, with a right that is for nothing else.
  const key = { metadata: { name: 'attune-ledger-key' }, data: { key: btoa('weak') } };
  await cluster.admin.create(`/api/v1/namespaces/${TOOLS}/secrets`, key);
});

/** A namespace with a workload of every kind. Those of earlier tests stay: nobody may touch them any more. */
async function newShop(options: Shop = {}): Promise<string> {
  number += 1;
  const name = `shop-${number}`;
  await cluster.namespace(name, options.labels);
  await fill(name, options);
  return name;
}

interface Shop {
  readonly labels?: Record<string, string>;
  readonly annotations?: object;
  readonly kinds?: readonly string[];
}

async function fill(namespace: string, { annotations = AUTO, kinds = KINDS }: Shop = {}): Promise<void> {
  await sources(cluster.admin, namespace);
  for (const kind of kinds) {
    const own = kind === 'Job' ? { ...annotations, 'attune.dev/on-change': 'run' } : annotations;
    await cluster.admin.create(pathOf(kind, namespace), workload(kind, kind.toLowerCase(), { annotations: own }));
  }
}

const placeOf = (namespace: string, kind = 'Deployment'): Place => ({ admin: cluster.admin, namespace, kind });

/** Changes the source and waits until every kind has reacted. */
async function everybodyReacts(namespace: string, source = 'app', kinds = KINDS): Promise<void> {
  const places = kinds.map((kind) => placeOf(namespace, kind));
  const traces = await Promise.all(places.map(traceOf));
  await change(cluster.admin, namespace, source);
  await Promise.all(places.map((place, at) => reaction(place, traces[at] ?? '')));
}

async function deploymentReacts(namespace: string, source = 'app'): Promise<string> {
  const before = await traceOf(placeOf(namespace));
  await change(cluster.admin, namespace, source);
  return await reaction(placeOf(namespace), before);
}

/** How often the Deployment's template has changed, once its controller has seen the last time. */
const revisionOf = (namespace: string): Promise<string | undefined> =>
  until(
    async () => {
      const { metadata, status } = await cluster.admin.get(pathOf('Deployment', namespace, 'deployment'));
      const isSeen = status.observedGeneration === metadata.generation;
      return isSeen && (metadata.annotations?.['deployment.kubernetes.io/revision'] ?? '');
    },
    { what: 'the Deployment being observed' },
  );

/** Somebody to whom things are told. */
async function sink(): Promise<{ readonly told: readonly string[]; readonly url: string }> {
  const told: string[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      told.push(body);
      response.end();
    });
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await until(() => server.listening, { what: 'the sink' });
  return { told, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` };
}

/** Installs the values under test. A short quiet period: nobody likes to wait for a test. */
async function install(reloader: Values, attune: Values = {}): Promise<void> {
  await cluster.install(release, { attune: { quietPeriod: '100ms', ...attune }, reloader });
}

/** A ReloaderConfig for the ConfigMap `app`, once it is seen. */
async function config(namespace: string, spec: Values): Promise<void> {
  const watched = { watchedResources: { configMaps: ['app'] }, ...spec };
  const object = { apiVersion: 'reloader.stakater.com/v1alpha1', kind: 'ReloaderConfig', spec: watched };
  await cluster.admin.create(configPath(namespace), { ...object, metadata: { name: 'config' } });
  const isSeen = async () => (await cluster.admin.get(configPath(namespace, 'config')))['status']?.observedGeneration;
  await until(isSeen, { what: 'the ReloaderConfig being seen' });
}

const used = new Set<string>();
const granted = new Set<string>();

describe('a change arrives', () => {
  let set = 0;

  beforeEach(() => {
    set += 1;
    release = `set-${set}`;
    account = `${release}-attune`;
  });

  afterEach(async () => {
    for (const grant of await cluster.grants(release)) granted.add(grant);
    // Told before the release goes: its rights are removed while its pods are still leaving.
    const refused = cluster.refusals(account);
    await cluster.uninstall(release);
    for (const use of cluster.uses(account)) used.add(use);
    expect(refused).toEqual([]);
  });

  it('in all namespaces', async () => {
    const shop = await newShop();
    await install({});
    await everybodyReacts(shop);
    await everybodyReacts(shop, 'keys');
    await everybodyReacts(shop);
  });

  it('in its own namespace alone', async () => {
    const shop = await newShop();
    await fill(TOOLS);
    await install({ watchGlobally: false });
    const outside = await traceOf(placeOf(shop));
    await change(cluster.admin, shop);
    await everybodyReacts(TOOLS);
    expect(await traceOf(placeOf(shop))).toBe(outside);
  });

  it('in several namespaces, with Roles alone', async () => {
    const [first, second, third] = [await newShop(), await newShop(), await newShop()];
    await install({ watchGlobally: false, namespaces: [first, second] });
    const outside = await traceOf(placeOf(third));
    await change(cluster.admin, third);
    await everybodyReacts(first);
    await everybodyReacts(second, 'keys');
    expect(await traceOf(placeOf(third))).toBe(outside);
  });

  it('once, whichever of two replicas leads, and also when the leader goes', async () => {
    const shop = await newShop();
    await install({ deployment: { replicas: 2 } });
    const leader = async () => {
      const path = `/apis/coordination.k8s.io/v1/namespaces/${TOOLS}/leases/stakater-reloader-lock`;
      return ((await cluster.admin.get(path))['spec'].holderIdentity || undefined) as string | undefined;
    };
    const first = await until(leader, { what: 'a leader' });
    expect(await cluster.pods(release)).toHaveLength(2);
    await everybodyReacts(shop);
    await cluster.admin.delete(`/api/v1/namespaces/${TOOLS}/pods/${first}`);
    await deploymentReacts(shop);
    // The one that goes may have brought this change, before it was told to go.
    const isAnother = async () => ((await leader()) ?? first) !== first;
    await until(isAnother, { what: 'another leader' });
    await deploymentReacts(shop, 'keys');
    // One at the beginning and one for each of three changes.
    expect(await revisionOf(shop)).toBe('4');
  });

  it('and is told to an alert sink whose address is in a Secret', async () => {
    const shop = await newShop();
    const { told, url } = await sink();
    const secret = {
      ALERT_ON_RELOAD: 'true',
      ALERT_SINK: 'slack',
      ALERT_WEBHOOK_URL: url,
      ALERT_ADDITIONAL_INFO: 'here',
    };
    await install({ ignoreNamespaces: 'kube-system,default', deployment: { env: { secret } } });
    await deploymentReacts(shop);
    const text = `here : Reloader detected changes in *app* of type *CONFIGMAP* in namespace *${shop}*. Hence reloaded *deployment*`;
    await until(() => told.some((body) => body.includes(text)), { what: 'the alert' });
  });

  it('at a webhook, and then no workload may be changed', async () => {
    const shop = await newShop();
    const { told, url } = await sink();
    await install({ webhookUrl: url });
    const before = await traceOf(placeOf(shop));
    await change(cluster.admin, shop);
    await until(() => told.length > 0, { what: 'the webhook' });
    expect(await traceOf(placeOf(shop))).toBe(before);
    const workloads = [...(await cluster.grants(release))].filter((grant) => /^(apps|batch)\//.test(grant));
    expect(workloads).toEqual(['apps/deployments list']);
  });

  it('by the annotations strategy', async () => {
    const shop = await newShop();
    await install({ reloadStrategy: 'annotations' });
    const template = await deploymentReacts(shop);
    expect(template).toContain('reloader.stakater.com/last-reloaded-from');
    expect(template).not.toContain('STAKATER_');
  });

  it('at workloads that never asked, with autoReloadAll', async () => {
    const shop = await newShop({ annotations: {} });
    await install({ autoReloadAll: true, ignoreJobs: true, ignoreCronJobs: true, ignoreSecrets: true });
    await everybodyReacts(shop, 'app', ['Deployment', 'DaemonSet', 'StatefulSet']);
  });

  it('where labels of namespace and source say so', async () => {
    const chosen = await newShop({ labels: { reload: 'yes' } });
    const other = await newShop();
    for (const namespace of [chosen, other]) {
      const path = `/api/v1/namespaces/${namespace}/secrets/keys`;
      await cluster.admin.patch(path, { metadata: { labels: { tier: 'web' } } });
    }
    await install({ namespaceSelector: 'reload in (yes,always)', resourceLabelSelector: 'tier=web' });
    const outside = await traceOf(placeOf(other));
    await change(cluster.admin, other, 'keys');
    await change(cluster.admin, chosen);
    expect(await deploymentReacts(chosen, 'keys')).not.toContain('CONFIGMAP');
    expect(await traceOf(placeOf(other))).toBe(outside);
  });

  it('as a ReloaderConfig asks, also in another namespace that allows it, and is told in its status', async () => {
    const silent = { annotations: {}, kinds: ['Deployment'] };
    const [shop, other] = [await newShop(silent), await newShop(silent)];
    await cluster.admin.patch(`/api/v1/namespaces/${other}`, {
      metadata: { annotations: { 'attune.dev/allow-reloads-from': shop } },
    });
    await install({});
    const target = { kind: 'Deployment', name: 'deployment' };
    await config(shop, { targets: [target, { ...target, namespace: other }] });
    const places = [placeOf(shop), placeOf(other)];
    const before = await Promise.all(places.map(traceOf));
    await change(cluster.admin, shop);
    await Promise.all(places.map((place, at) => reaction(place, before[at] ?? '')));
    const isTold = async (): Promise<boolean> => {
      const { targetStatus } = (await cluster.admin.get(configPath(shop, 'config')))['status'];
      return targetStatus.every(({ reloadCount }: { readonly reloadCount?: number }) => reloadCount === 1);
    };
    await until(isTold, { what: 'both reloads in the status' });
  });

  it('by evictions, with the rights for it', async () => {
    const shop = await newShop({ annotations: {}, kinds: ['Deployment'] });
    await install({}, { reloaderConfig: { restart: true } });
    await config(shop, { targets: [{ kind: 'Deployment', name: 'deployment' }], rolloutStrategy: 'restart' });
    const pods = async () => {
      const living = await cluster.admin.list(`/api/v1/namespaces/${shop}/pods`);
      return living
        .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
        .map(({ metadata }) => metadata.uid);
    };
    const [first] = await until(async () => (await pods()).length === 1 && (await pods()), { what: 'its pod' });
    const template = await traceOf(placeOf(shop));
    await change(cluster.admin, shop);
    const isReplaced = async () => (await pods()).some((uid) => uid !== first);
    await until(isReplaced, { what: 'another pod in its place' });
    expect(await traceOf(placeOf(shop))).toBe(template);
  });

  // These two come last: the API server serves the kinds from here on, and who lacks rights on them is refused.
  const everything = { isArgoRollouts: true, isOpenshift: true, enableCSIIntegration: true };
  const patched = ['Deployment', 'DaemonSet', 'StatefulSet', 'Rollout', 'DeploymentConfig'];

  it('at kinds of others, and at a template alone', async () => {
    const csi = ['SecretProviderClass', 'SecretProviderClassPodStatus'] as const;
    await installKinds(['Rollout', 'DeploymentConfig', ...csi], cluster.plane);
    const shop = await newShop({ kinds: [...KINDS, 'Rollout', 'DeploymentConfig'] });
    const annotations = { 'attune.dev/on-change': 'template' };
    await cluster.admin.patch(pathOf('CronJob', shop, 'cronjob'), { metadata: { annotations } });
    await install(everything);
    await everybodyReacts(shop, 'app', [...patched, 'CronJob']);
  });

  it('although another writer was faster and the watch is slow to tell', async () => {
    const shop = await newShop({ kinds: patched });
    await install(everything);
    cluster.proxy.setRules([{ verbs: ['watch'], path: /^\/apis\/(apps|argoproj)/, fault: { type: 'silence' } }]);
    cluster.proxy.cutWatches();
    for (const kind of patched) {
      await cluster.admin.patch(pathOf(kind, shop, kind.toLowerCase()), { metadata: { labels: { touched: 'yes' } } });
    }
    await everybodyReacts(shop, 'app', patched);
    cluster.proxy.setRules([]);
    cluster.proxy.cutWatches();
  });
});

it('no right was granted in vain', () => {
  // Asked by OpenShift's admission only, in the name of whoever creates the Job.
  const elsewhere = ['batch/cronjobs/finalizers update'];
  expect([...granted].filter((grant) => !used.has(grant) && !elsewhere.includes(grant)).sort()).toEqual([]);
});
