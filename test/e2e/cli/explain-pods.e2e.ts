import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Controller, type Stage, stage } from '../../support/controller.ts';
import { api, serviceAccount } from '../../support/sandbox.ts';
import { until } from '../../support/wait.ts';
import { pathOf, podUsing, type WorkloadOptions } from '../../support/workloads.ts';
import { AUTO, DEFAULTS, explainer, nextSecond } from './explained.ts';
import { commandLine } from './run.ts';

const admin = api();
let place: Stage;
let controller: Controller;
let cli: ReturnType<typeof explainer>;

beforeAll(async () => {
  place = await stage();
  cli = explainer(place);
  controller = await place.start(['--quiet-period=0s']);
});
afterAll(async () => {
  await controller.stop();
  await place[Symbol.asyncDispose]();
});

type Kind = 'Deployment' | 'StatefulSet';

const pods = async (name: string) => {
  const all = await admin.list(`/api/v1/namespaces/${place.space}/pods?labelSelector=app%3D${name}`);
  return all.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
};

/** A ConfigMap and a workload with running pods that uses it, a second later. */
async function running(name: string, options: Partial<WorkloadOptions> & { replicas: number; kind?: Kind }) {
  const { replicas, kind = 'Deployment', spec, ...rest } = options;
  await admin.create(pathOf('ConfigMap', place.space), { metadata: { name }, data: { a: '1' } });
  await nextSecond();
  const pod = podUsing({ kind: 'ConfigMap', name }, 'envFrom');
  await cli.create(name, { annotations: AUTO, pod, ...rest, spec: { replicas, ...spec } }, kind);
  await scheduled(name, replicas);
  await nextSecond();
}

const scheduled = (name: string, count: number) =>
  until(
    async () => {
      const found = await pods(name);
      return found.length === count && found.every(({ spec }) => spec.nodeName !== undefined);
    },
    { what: `${count} pods of ${name}` },
  );

const change = (name: string, a = '2') => admin.patch(pathOf('ConfigMap', place.space, name), { data: { a } });

const marked = (name: string, kind: Kind = 'Deployment') =>
  until(async () => (await cli.about(`${kind}/${name}`)).mark?.found === 'current', { what: `the mark on ${name}` });

const state = async (name: string, kind: Kind = 'Deployment') => (await cli.about(`${kind}/${name}`)).state;

describe('up to date is only what is', () => {
  it('pods that began after the last write, before a change and after its rollout', async () => {
    await running('rolled', { replicas: 2 });
    expect(await state('rolled')).toMatchObject({ is: 'current', pods: { total: 2, older: 0 } });
    expect(await cli.inWords('deploy/rolled')).toContain('now up to date: its 2 pods began after its last write');
    await change('rolled');
    await marked('rolled');
    const done = await until(
      async () => {
        const now = await state('rolled');
        return now.is === 'current' && now;
      },
      { what: 'new pods' },
    );
    expect(done).toMatchObject({ is: 'current', pods: { total: 2, older: 0 } });
  });

  it('a source that was created after the pods', async () => {
    const name = 'late';
    const pod = podUsing({ kind: 'ConfigMap', name }, 'envFrom');
    await cli.create(name, { annotations: AUTO, pod, spec: { replicas: 2 } });
    await scheduled(name, 2);
    await nextSecond();
    await admin.create(pathOf('ConfigMap', place.space), { metadata: { name }, data: { a: '1' } });
    expect(await state(name)).toMatchObject({ is: 'older', pods: { total: 2, older: 2 } });
    expect(await cli.inWords(`deploy/${name}`)).toMatch(/now 2 of 2 pods are older than its last write, \d+ s ago/);
  });

  it('a flag that was set after the change', async () => {
    await running('asked-late', { replicas: 1, annotations: {} });
    await change('asked-late');
    await admin.patch(pathOf('Deployment', place.space, 'asked-late'), { metadata: { annotations: AUTO } });
    const now = await until(
      async () => {
        const found = await state('asked-late');
        return found.from === 'checkpoint' && found;
      },
      { what: 'the checkpoint that knows of it' },
    );
    expect(now).toMatchObject({ is: 'older', pods: { total: 1, older: 1 } });
    expect(await cli.inWords('deploy/asked-late')).toMatch(/nothing waits, as the checkpoint counts it as theirs/);
  });
});

describe('marked but not rolled out', () => {
  it('a StatefulSet whose pods are replaced by hand', async () => {
    await running('by-hand', { replicas: 2, kind: 'StatefulSet', spec: { updateStrategy: { type: 'OnDelete' } } });
    await change('by-hand');
    await marked('by-hand', 'StatefulSet');
    const before = { is: 'marked', hold: 'on-delete', pods: { total: 2, older: 2 } };
    expect(await state('by-hand', 'StatefulSet')).toMatchObject(before);
    expect(await cli.inWords('sts/by-hand')).toContain(
      'now marked but not rolled out: 2 of 2 pods are older than the change; OnDelete: a pod is replaced only when',
    );
    await nextSecond();
    const old = await pods('by-hand');
    for (const { metadata } of old) {
      await admin.delete(`/api/v1/namespaces/${place.space}/pods/${metadata.name}`);
    }
    const uids = new Set(old.map(({ metadata }) => metadata.uid));
    await until(async () => (await pods('by-hand')).filter(({ metadata }) => !uids.has(metadata.uid)).length === 2, {
      what: 'their successors',
    });
    await scheduled('by-hand', 2);
    expect(await state('by-hand', 'StatefulSet')).toMatchObject({ is: 'current', pods: { total: 2, older: 0 } });
  });

  it('a Deployment that somebody has paused', async () => {
    await running('held', { replicas: 1 });
    await admin.patch(pathOf('Deployment', place.space, 'held'), { spec: { paused: true } });
    await change('held');
    await marked('held');
    expect(await state('held')).toMatchObject({ is: 'marked', hold: 'paused', pods: { total: 1, older: 1 } });
    expect(await cli.inWords('deploy/held')).toMatch(/marked but not rolled out: 1 of 1 pods .*; it is paused/);
  });

  it('a Deployment in its pause period', async () => {
    const annotations = { ...AUTO, 'deployment.reloader.stakater.com/pause-period': '1h' };
    await running('gathering', { replicas: 1, annotations });
    await change('gathering');
    await marked('gathering');
    expect(await state('gathering')).toMatchObject({ is: 'marked', hold: 'paused', pods: { total: 1, older: 1 } });
  });
});

describe('what cannot be known is not known', () => {
  const read = (apiGroups: string[], resources: string[]) => ({ apiGroups, resources, verbs: ['get', 'list'] });

  it('without the right to list pods, or what stands between', async () => {
    await running('hidden', { replicas: 1, annotations: {} });
    const base = [read(['apps'], ['deployments']), read([''], ['configmaps', 'secrets'])];
    for (const [account, rules, plural] of [
      ['no-pods', [read(['apps'], ['replicasets'])], 'pods'],
      ['no-sets', [read([''], ['pods'])], 'replicasets'],
    ] as const) {
      const access = await serviceAccount(place.space, account, [...base, ...rules]);
      const ask = commandLine(access, { ATTUNE_NAMESPACE: place.home });
      const { stdout, code } = await ask('explain', 'deploy/hidden', '-n', place.space, '-o', 'json', DEFAULTS);
      expect(code).toBe(0);
      expect(JSON.parse(stdout).sources[0].state).toMatchObject({
        is: 'unknown',
        why: `you may not list ${plural} in namespace ${place.space}`,
      });
    }
  });

  it('pods of another workload with the same labels do not count', async () => {
    await running('shared', { replicas: 1 });
    const labels = { app: 'shared', own: 'yes' };
    await admin.create(`/apis/apps/v1/namespaces/${place.space}/replicasets`, {
      metadata: { name: 'stranger' },
      spec: {
        replicas: 1,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'x', image: 'x' }] } },
      },
    });
    await scheduled('shared', 2);
    expect(await state('shared')).toMatchObject({ is: 'current', pods: { total: 1 } });
  });

  it('what the engine would not take for certain either', async () => {
    await running('doubtful', { replicas: 1 });
    await controller.stop();
    const path = pathOf('Deployment', place.space, 'doubtful');
    await change('doubtful', '2');
    const containers = (await admin.get(path))['spec'].template.spec.containers;
    const others = containers.map((container: object) => ({ ...container, image: 'other' }));
    const [before] = await pods('doubtful');
    await admin.patch(path, { spec: { template: { spec: { containers: others } } } });
    await until(async () => (await pods('doubtful')).every(({ metadata }) => metadata.uid !== before?.metadata.uid), {
      what: 'a pod of the other image',
    });
    await scheduled('doubtful', 1);
    await nextSecond();
    // The ledger says that its pods have this; the one that runs began with something else.
    await change('doubtful', '1');
    expect(await state('doubtful')).toMatchObject({ is: 'older', from: 'checkpoint', pods: { total: 1, older: 1 } });
    expect(await cli.inWords('deploy/doubtful')).toContain(
      'what they run with is not known: source and template were written since',
    );

    // And what it has written down as not known is going to be rolled.
    const ledgers = (await admin.list(pathOf('ConfigMap', place.home))).filter(({ data }) => data?.ledger);
    for (const { metadata, data } of ledgers) {
      const content = JSON.parse(data.ledger);
      const entry = content.workloads[`Deployment/${place.space}/doubtful`];
      if (!entry) continue;
      entry.applied['ConfigMap/doubtful'] = '?';
      await admin.patch(pathOf('ConfigMap', place.home, metadata.name), { data: { ledger: JSON.stringify(content) } });
    }
    expect(await state('doubtful')).toMatchObject({ is: 'pending', change: 'unknown', from: 'checkpoint' });
    expect(await cli.inWords('deploy/doubtful')).toContain('what its pods began with is not known');
  });
});
