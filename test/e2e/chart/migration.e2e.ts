import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { installKinds } from '../../support/crds.ts';
import { podRunner } from '../../support/pod-runner.ts';
import type { AnyObject } from '../../support/sandbox.ts';
import { until } from '../../support/wait.ts';
import { ChartCluster, TOOLS } from './installed.ts';
import { STAKATER_DEFAULTS } from './stakater.ts';
import { AUTO, change, type Place, pathOf, reaction, sources, templateOf, traceOf, workload } from './workloads.ts';

const STAND_IN = fileURLToPath(new URL('../../chart/stakater-stand-in', import.meta.url));
const IMAGE = 'attune:0.1.0';
const ROLLING = ['Deployment', 'StatefulSet', 'DaemonSet'];

let cluster: ChartCluster;
beforeAll(async () => {
  cluster = await ChartCluster.start();
});

const placeOf = (namespace: string, kind: string): Place => ({ admin: cluster.admin, namespace, kind });

/** Stakater's hash of a ConfigMap with one entry `v`. */
const markOf = (value: string): string => createHash('sha1').update(`v=${value}`).digest('hex');

/** How often a template has changed since it was created, as its own controller counts. */
async function rollouts(object: AnyObject): Promise<number> {
  const { name, namespace = '', uid } = object.metadata;
  const observed = await until(
    async () => {
      const now = await cluster.admin.get(pathOf(object.kind, namespace, name));
      return now['status'].observedGeneration === now.metadata.generation && now;
    },
    { what: `${object.kind} ${name} being observed` },
  );
  if (object.kind === 'Deployment')
    return Number(observed.metadata.annotations?.['deployment.kubernetes.io/revision']) - 1;
  const revisions = await cluster.admin.list(`/apis/apps/v1/namespaces/${namespace}/controllerrevisions`);
  // The owner's uid stands in no other place.
  return revisions.filter(({ metadata }) => JSON.stringify(metadata).includes(uid)).length - 1;
}

/** Waits until the program itself says so: the other chart's probe begins to ask after ten seconds only. */
async function ready(release: string): Promise<void> {
  await until(
    async () => {
      const pods = (await cluster.pods(release)).filter(({ metadata }) => !metadata.deletionTimestamp);
      const answers = pods.map(({ status }) => fetch(`http://${status.podIP}:9090/readyz`));
      return pods.length > 0 && (await Promise.all(answers)).every(({ ok }) => ok);
    },
    { what: `${release} being ready` },
  );
}

describe('a release of the other chart is upgraded, and fifty workloads that it has marked', () => {
  const shop = 'shop';
  const list = async (kind: string) =>
    (await cluster.admin.list(pathOf(kind, shop))).map((each): AnyObject => ({ ...each, kind }));
  const all = async () => (await Promise.all(ROLLING.map(list))).flat();
  const templates = async () => Object.fromEntries((await all()).map((each) => [each.metadata.uid, templateOf(each)]));
  let before: Readonly<Record<string, string>>;

  /** Every third mark is old: a change that nobody has delivered, perhaps years ago. */
  const value = (at: number) => (at % 3 === 0 ? 'older' : 'current');

  beforeAll(async () => {
    await cluster.install('reloader', {}, { chart: STAND_IN, wait: false });
    await cluster.namespace(shop);
    await sources(cluster.admin, shop);
    for (let at = 0; at < 50; at += 1) {
      const kind = ROLLING[at % 10] ?? 'Deployment';
      const source = `app-${at}`;
      const data = { v: 'current' };
      await cluster.admin.create(`/api/v1/namespaces/${shop}/configmaps`, { metadata: { name: source }, data });
      const body = workload(kind, `web-${at}`, { source });
      const env = [{ name: `STAKATER_APP_${at}_CONFIGMAP`, value: markOf(value(at)) }];
      const { template } = body.spec as { template: { spec: { containers: object[] } } };
      template.spec.containers = template.spec.containers.map((container) => ({ ...container, env }));
      await cluster.admin.create(pathOf(kind, shop), body);
    }
    before = await templates();
  });

  it('none of them rolls because of the swap, names kept', async () => {
    const path = `/apis/apps/v1/namespaces/${TOOLS}/deployments/reloader-reloader`;
    const old = await cluster.admin.get(path);
    await cluster.install('reloader', { ...STAKATER_DEFAULTS, nameOverride: 'reloader' });
    const { metadata, spec } = await cluster.admin.get(path);
    expect(metadata.uid).toBe(old.metadata.uid);
    expect(spec.strategy).toEqual({ type: 'Recreate' });
    expect(spec.template.spec.containers[0].image).toBe(IMAGE);
    expect(Object.keys(before)).toHaveLength(50);
    expect(await templates()).toEqual(before);
  });

  it('nor because of the way back', async () => {
    await cluster.rollback('reloader');
    const path = `/apis/apps/v1/namespaces/${TOOLS}/deployments/reloader-reloader`;
    const { spec } = await cluster.admin.get(path);
    expect(spec.strategy.type).toBe('RollingUpdate');
    expect(spec.template.spec.containers[0].image).toContain('stakater/reloader');
    expect(await templates()).toEqual(before);
  });

  it('nor with names of its own', async () => {
    await cluster.install('reloader', STAKATER_DEFAULTS);
    const deployments = await cluster.admin.list(`/apis/apps/v1/namespaces/${TOOLS}/deployments`);
    expect(deployments.map(({ metadata }) => metadata.name)).toEqual(['reloader-attune']);
    expect(await templates()).toEqual(before);
  });

  it('the next change rolls each of them once', async () => {
    for (let at = 0; at < 50; at += 1) {
      await cluster.admin.patch(`/api/v1/namespaces/${shop}/configmaps/app-${at}`, { data: { v: 'new' } });
    }
    const objects = await until(
      async () => {
        const now = await all();
        return now.every((each) => templateOf(each).includes(markOf('new'))) && now;
      },
      { what: 'all fifty to carry the new mark', deadlineMs: 120_000 },
    );
    expect(await Promise.all(objects.map(rollouts))).toEqual(objects.map(() => 1));
    await cluster.uninstall('reloader');
  });
});

describe('the other chart with nothing but the image changed, under its own rights', () => {
  const kinds = [...ROLLING, 'CronJob', 'Job', 'Rollout'];
  const extraRules = [
    { apiGroups: ['argoproj.io', ''], resources: ['rollouts'], verbs: ['list', 'get', 'update', 'patch'] },
  ];

  it.each(['env-vars', 'annotations'])('reloads every kind by %s', async (strategy) => {
    await installKinds(['Rollout'], cluster.plane);
    const shop = `swap-${strategy}`;
    await cluster.namespace(shop);
    await sources(cluster.admin, shop);
    for (const kind of kinds) await cluster.admin.create(pathOf(kind, shop), workload(kind, kind.toLowerCase()));
    const args = ['--is-Argo-Rollouts=true', `--reload-strategy=${strategy}`];
    await cluster.install(shop, { image: IMAGE, args, extraRules }, { chart: STAND_IN, wait: false });
    await ready(shop);
    for (const source of ['app', 'keys']) {
      const places = kinds.map((kind) => placeOf(shop, kind));
      const traces = await Promise.all(places.map(traceOf));
      await change(cluster.admin, shop, source);
      await Promise.all(places.map((place, at) => reaction(place, traces[at] ?? '')));
    }
    // The rights of that chart are enough to tell everybody how it is set.
    // It is written beside the work, and may be of the release before until then.
    const isTold = async () => {
      const { data } = await cluster.admin.get(`/api/v1/namespaces/${TOOLS}/configmaps/attune-info`);
      return data.flags.includes(`--reload-strategy=${strategy}`) as boolean;
    };
    await until(isTold, { what: `attune-info with ${strategy}` });
    await cluster.uninstall(shop);
  });
});

/** The other program is played by this one under `--compat=stakater`: it writes at once, and the same marks. */
describe('both at work for a while', () => {
  const OTHER = 'other-tools';

  beforeAll(async () => {
    await cluster.namespace(OTHER);
    await podRunner({ plane: cluster.plane, namespace: OTHER });
  });

  it.each(['env-vars', 'annotations'])('%s: one rollout for each change', async (reloadStrategy) => {
    const shop = `both-${reloadStrategy}`;
    // Seen by the new one alone: when it rolls here, it has also made up its mind about what changed there before.
    const witness = `${shop}-witness`;
    for (const namespace of [shop, witness]) {
      await cluster.namespace(namespace);
      await sources(cluster.admin, namespace);
      await cluster.admin.create(pathOf('Deployment', namespace), workload('Deployment', 'deployment'));
    }
    const scoped = (namespaces: string[]) => ({ reloadStrategy, watchGlobally: false, namespaces });
    await cluster.install('old', { namespace: OTHER, attune: { compat: 'stakater' }, reloader: scoped([shop]) });
    await cluster.install('new', { attune: { quietPeriod: '500ms' }, reloader: scoped([shop, witness]) });
    for (let count = 1; count <= 5; count += 1) {
      const places = [shop, witness].map((namespace) => placeOf(namespace, 'Deployment'));
      const traces = await Promise.all(places.map(traceOf));
      await change(cluster.admin, shop);
      await change(cluster.admin, witness);
      await Promise.all(places.map((place, at) => reaction(place, traces[at] ?? '')));
      const object = await cluster.admin.get(pathOf('Deployment', shop, 'deployment'));
      expect(await rollouts({ ...object, kind: 'Deployment' })).toBe(count);
    }
    await cluster.uninstall('old');
    await cluster.uninstall('new');
  });
});

it('leaving --compat=stakater, and going back, rolls nothing', async () => {
  const [shop, witness] = ['leaving', 'leaving-witness'];
  for (const namespace of [shop, witness]) {
    await cluster.namespace(namespace);
    await sources(cluster.admin, namespace);
    await cluster.admin.create(pathOf('Deployment', namespace), workload('Deployment', 'deployment'));
  }
  const changed = async (namespace: string) => {
    const place = placeOf(namespace, 'Deployment');
    const trace = await traceOf(place);
    await change(cluster.admin, namespace);
    return await reaction(place, trace);
  };
  let trace = await traceOf(placeOf(shop, 'Deployment'));
  for (const compat of ['stakater', '', 'stakater']) {
    await cluster.install('modes', { attune: { compat, quietPeriod: '100ms' } });
    // What was to be done at the start has been done when a later change has arrived.
    await changed(witness);
    expect(await traceOf(placeOf(shop, 'Deployment'))).toBe(trace);
    trace = await changed(shop);
  }
  await cluster.uninstall('modes');
});

it('whoever is paused when the release goes is resumed', async () => {
  const shop = 'paused';
  await cluster.namespace(shop);
  await sources(cluster.admin, shop);
  const annotations = { ...AUTO, 'deployment.reloader.stakater.com/pause-period': '1h' };
  await cluster.admin.create(pathOf('Deployment', shop), workload('Deployment', 'deployment', { annotations }));
  await cluster.install('attune', { attune: { quietPeriod: '100ms' } });
  const deployment = () => cluster.admin.get(pathOf('Deployment', shop, 'deployment'));
  await change(cluster.admin, shop);
  await until(async () => (await deployment())['spec'].paused === true, { what: 'the pause' });
  await cluster.uninstall('attune');
  const resumed = await deployment();
  expect(resumed['spec'].paused ?? false).toBe(false);
  expect(resumed.metadata.annotations).not.toHaveProperty(['deployment.reloader.stakater.com/paused-at']);
  expect(templateOf(resumed)).toContain('STAKATER_APP_CONFIGMAP');
});
