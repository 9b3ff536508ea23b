import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import type { KindName } from '../../../src/api/kinds.ts';
import { Audit, templateIn } from '../../support/audit.ts';
import { startController } from '../../support/controller.ts';
import { api, controlPlane, namespace } from '../../support/sandbox.ts';
import { until } from '../../support/wait.ts';
import { HELD_OPEN, pathOf, type SourceName } from '../../support/workloads.ts';
import { Fence, movesIn } from '../reloader/moves.ts';

const KINDS: readonly KindName[] = ['Deployment', 'StatefulSet', 'DaemonSet'];
const SOURCES: readonly SourceName['kind'][] = ['ConfigMap', 'Secret'];
const LISTS = { ConfigMap: 'pod-reloader.cs.sap.com/configmaps', Secret: 'pod-reloader.cs.sap.com/secrets' } as const;
const HASH = 'pod-reloader.cs.sap.com/config-hash';
const IGNORED = 'pod-reloader.cs.sap.com/ignored';

/** A namespace, everything that happens in it, and controllers that watch it. */
async function world(flags: readonly string[] = []) {
  const [home, shop] = await Promise.all([namespace('sap-home'), namespace('sap')]);
  const audit = await Audit.of(shop, [...KINDS, 'ConfigMap', 'Secret', 'Event']);
  const fence = await Fence.in(shop, audit);
  const started: AsyncDisposable[] = [];
  return {
    shop,
    audit,
    moves: movesIn(shop),
    fence: () => fence.pass(),
    async start() {
      const access = controlPlane();
      const controller = await startController({ home, access, flags: [`--namespaces=${shop}`, ...flags] });
      started.push(controller);
      return controller;
    },
    hashOf: (kind: KindName, name: string): string | undefined => {
      const object = audit.latest(kind, name);
      return object && templateIn(kind, object)['metadata'].annotations?.[HASH];
    },
    rolls: (kind: KindName, name: string): number => audit.templates(kind, name).length - 1,
    /** SAP's own digest of what is listed, by what the server says about it now. */
    async versions(listed: Readonly<Partial<Record<SourceName['kind'], readonly string[]>>>): Promise<string> {
      let text = '';
      for (const kind of SOURCES) {
        for (const name of listed[kind] ?? []) {
          const found = await api().find(pathOf(kind, shop, name));
          const { uid, resourceVersion } = found?.metadata ?? {};
          text += `${kind.toLowerCase()}/${shop}/${name}/${found ? `${uid}.${resourceVersion}` : ''}\n`;
        }
      }
      return createHash('sha256').update(text).digest('hex');
    },
    async [Symbol.asyncDispose]() {
      for (const controller of started) await controller[Symbol.asyncDispose]();
      await audit[Symbol.asyncDispose]();
    },
  };
}

type World = Awaited<ReturnType<typeof world>>;

const nameOf = (kind: KindName, source: string): string => `${kind}-${source}`.toLowerCase();

/** Each of the three kinds, once for a ConfigMap and once for a Secret. */
async function createAll({ moves }: World): Promise<void> {
  for (const source of SOURCES) await moves.createSource(source, 'app', { value: '1' });
  for (const kind of KINDS) {
    for (const source of SOURCES) {
      await moves.create(kind, nameOf(kind, source), { annotations: { [LISTS[source]]: 'app' } });
    }
  }
}

test('three kinds, ConfigMap and Secret: the template carries a digest of the content, by one rollout', async () => {
  await using w = await world();
  await createAll(w);
  await w.start();
  for (const source of SOURCES) await w.moves.setData(source, 'app', { value: '2' });
  const before = new Map<string, string | undefined>();
  for (const kind of KINDS) {
    for (const source of SOURCES) {
      const name = nameOf(kind, source);
      await w.audit.until(`a hash on ${name}`, () => w.hashOf(kind, name) !== undefined);
      expect(w.hashOf(kind, name)).toMatch(/^[0-9a-f]{64}$/);
      before.set(name, w.hashOf(kind, name));
    }
  }
  // A label is no data.
  for (const source of SOURCES) await api().patch(pathOf(source, w.shop, 'app'), { metadata: { labels: { a: 'b' } } });
  await w.fence();
  for (const kind of KINDS) {
    for (const source of SOURCES) {
      const name = nameOf(kind, source);
      expect([w.rolls(kind, name), w.hashOf(kind, name)]).toEqual([1, before.get(name)]);
      const { annotations } = w.audit.latest(kind, name)?.metadata ?? {};
      expect(Object.keys(annotations ?? {})).not.toContain(HASH);
      expect(annotations).toHaveProperty(['attune.dev/record']);
    }
  }
});

test("as SAP: three kinds carry SAP's own digest, also for a label, by one rollout each time", async () => {
  await using w = await world(['--compat=sap']);
  await createAll(w);
  await w.start();
  const untilEqual = async (): Promise<void> => {
    for (const kind of KINDS) {
      for (const source of SOURCES) {
        const name = nameOf(kind, source);
        const expected = await w.versions({ [source]: ['app'] });
        await w.audit.until(`SAP's digest on ${name}`, () => w.hashOf(kind, name) === expected);
      }
    }
  };
  // As upstream, there is no baseline: what has no hash gets one.
  await untilEqual();
  for (const source of SOURCES) await w.moves.setData(source, 'app', { value: '2' });
  await untilEqual();
  for (const source of SOURCES) await api().patch(pathOf(source, w.shop, 'app'), { metadata: { labels: { a: 'b' } } });
  await untilEqual();
  await w.fence();
  for (const kind of KINDS) for (const source of SOURCES) expect(w.rolls(kind, nameOf(kind, source))).toBe(3);
});

test("fifty workloads as SAP's program leaves them: a first start rolls nothing, in either mode", async () => {
  for (const flags of [[], ['--compat=sap']]) {
    await using w = await world(flags);
    await w.moves.createSource('ConfigMap', 'app', { value: '1' });
    await w.moves.createSource('Secret', 'db', { value: '1' });
    const hash = await w.versions({ ConfigMap: ['app'], Secret: ['db'] });
    const names = Array.from({ length: 50 }, (_, n) => `web-${n}`);
    for (const name of names) {
      await w.moves.create('Deployment', name, {
        annotations: { [LISTS.ConfigMap]: 'app', [LISTS.Secret]: 'db' },
        templateAnnotations: { [HASH]: hash },
      });
    }
    await w.start();
    await w.fence();
    expect(names.filter((name) => w.rolls('Deployment', name) > 0)).toEqual([]);
  }
});

test('created and deleted sources count; with a new template of another they are in the pods already', async () => {
  // Several requests are one change here, also on a busy machine.
  await using w = await world(['--quiet-period=3s']);
  const names = ['a', 'b', 'c', 'd', 'e'];
  await w.moves.create('Deployment', 'web', { annotations: { [LISTS.ConfigMap]: names.join(', ') } });
  await w.start();
  // Five that are missing, created one right after the other.
  for (const name of names) await w.moves.createSource('ConfigMap', name, { value: '1' });
  await w.audit.until('the hash', () => w.hashOf('Deployment', 'web') !== undefined);
  await w.fence();
  expect(w.rolls('Deployment', 'web')).toBe(1);
  await w.moves.deleteSource('ConfigMap', 'a');
  await w.audit.until('a rollout for what is gone', () => w.rolls('Deployment', 'web') === 2);
  await w.fence();
  // As one `kubectl apply` of both would.
  await w.moves.createSource('ConfigMap', 'a', { value: '2' });
  const image = { spec: { template: { spec: { containers: [{ name: 'app', image: 'v2' }] } } } };
  await api().patch(pathOf('Deployment', w.shop, 'web'), image, 'strategic');
  await w.fence();
  expect(w.rolls('Deployment', 'web')).toBe(3);
});

test('a label switches it off, and on again', async () => {
  await using w = await world();
  await w.moves.createSource('ConfigMap', 'app', { value: '1' });
  await w.moves.create('Deployment', 'web', { annotations: { [LISTS.ConfigMap]: 'app' } });
  const path = pathOf('Deployment', w.shop, 'web');
  await w.start();
  await api().patch(path, { metadata: { labels: { [IGNORED]: 'true' } } });
  await w.moves.setData('ConfigMap', 'app', { value: '2' });
  await w.fence();
  expect(w.rolls('Deployment', 'web')).toBe(0);
  await api().patch(path, { metadata: { labels: { [IGNORED]: null } } });
  await w.fence();
  await w.moves.setData('ConfigMap', 'app', { value: '3' });
  await w.audit.until('a rollout', () => w.rolls('Deployment', 'web') === 1);
});

test('who is killed and started again loses nothing and rolls nothing twice', async () => {
  await using w = await world(['--quiet-period=0']);
  for (const name of ['app', 'gone']) await w.moves.createSource('ConfigMap', name, { value: '1' });
  for (const name of ['app', 'gone', 'born']) {
    await w.moves.create('Deployment', name, { annotations: { [LISTS.ConfigMap]: name } });
  }
  const first = await w.start();
  await w.moves.setData('ConfigMap', 'app', { value: '2' });
  await w.audit.until('the first rollout', () => w.rolls('Deployment', 'app') === 1);
  await first.kill9();
  await w.moves.setData('ConfigMap', 'app', { value: '3' });
  await w.moves.deleteSource('ConfigMap', 'gone');
  await w.moves.createSource('ConfigMap', 'born', { value: '1' });
  const second = await w.start();
  await w.audit.until('all three', () =>
    [2, 1, 1].every((n, at) => w.rolls('Deployment', ['app', 'gone', 'born'][at] ?? '') === n),
  );
  await second.kill9();
  await w.start();
  await w.fence();
  expect(['app', 'gone', 'born'].map((name) => w.rolls('Deployment', name))).toEqual([2, 1, 1]);
});

test('who takes the hash away during the rollout is answered once', async () => {
  await using w = await world();
  await w.moves.createSource('ConfigMap', 'app', { value: '1' });
  await w.moves.create('Deployment', 'web', { annotations: { [LISTS.ConfigMap]: 'app' }, spec: HELD_OPEN });
  const controller = await w.start();
  const strip = () =>
    api().patch(pathOf('Deployment', w.shop, 'web'), { spec: { template: { metadata: { annotations: null } } } });
  await w.moves.setData('ConfigMap', 'app', { value: '2' });
  await w.audit.until('the hash', () => w.hashOf('Deployment', 'web') !== undefined);
  await strip();
  await w.audit.until('it is applied once more', () => w.rolls('Deployment', 'web') === 3);
  await strip();
  // It comes by the watch of workloads, with which those of the fence's sources have no order in common.
  const undelivered = async () => await controller.metric('attune_undelivered_changes');
  await until(async () => (await undelivered()) === 1, { what: 'the change is given up' });
  await w.fence();
  expect(w.rolls('Deployment', 'web')).toBe(4);
  expect(await undelivered()).toBe(1);
});
