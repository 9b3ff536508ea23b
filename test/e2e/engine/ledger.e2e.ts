import { expect, test } from 'vitest';
import { DEFAULT_KEYS, RECORD } from '../../../src/api/annotations.ts';
import { kindNamed, type WorkloadKind } from '../../../src/api/kinds.ts';
import type { DataObject, KubeObject } from '../../../src/api/objects.ts';
import { parseRecord } from '../../../src/domain/ledger/record.ts';
import { shortDigest } from '../../../src/domain/state/recent-templates.ts';
import { parseWorkload } from '../../../src/domain/workload/parse-workload.ts';
import { KEY_SECRET, keysIn, withKey } from '../../../src/model/ledger/ledger-key.ts';
import { Audit } from '../../support/audit.ts';
import { stage, startController } from '../../support/controller.ts';
import { faultProxy } from '../../support/proxy.ts';
import { type AnyObject, api, controlPlane, namespace } from '../../support/sandbox.ts';
import { until } from '../../support/wait.ts';
import { isObserved, pathOf, sha1 } from '../../support/workloads.ts';
import { AUTO, movesIn, untilMarked } from '../reloader/moves.ts';
import { untilCounted } from './web-world.ts';

const DEPLOYMENT = 'Deployment';

/** A controller for one namespace; its ledger lives in a namespace of its own, so that tests do not meet. */
const start = (shop: string, own: string, flags: readonly string[] = []) =>
  startController({ home: own, access: controlPlane(), flags: [`--namespaces=${shop}`, ...flags] });

const rollsOf = (audit: Audit, name: string): number => audit.templates(DEPLOYMENT, name).length - 1;

test('a first start on 500 running workloads rolls nothing, and the next change rolls each once', async () => {
  const shop = await namespace('first-start');
  const moves = movesIn(shop);
  const names = Array.from({ length: 500 }, (_, n) => `web-${n}`);
  await Promise.all(
    names.map(async (name) => {
      await moves.createSource('ConfigMap', name, { greeting: 'hello' });
      await moves.createUser(name, name);
    }),
  );
  await using audit = await Audit.of(shop, [DEPLOYMENT]);
  const own = await namespace('first-home');
  const first = await start(shop, own);
  const last = names.at(-1) ?? '';
  const changed = new Set([last]);
  const change = async (name: string) => {
    changed.add(name);
    await moves.setData('ConfigMap', name, { greeting: 'bye' });
  };
  const rolls = () => names.map((name) => rollsOf(audit, name));
  const wanted = () => names.map((name) => (changed.has(name) ? 1 : 0));
  await change(last);
  await untilMarked(audit, DEPLOYMENT, last, { greeting: 'bye' });
  expect(rolls()).toEqual(wanted());

  // So many do not fit into one piece of the ledger; each piece is found again.
  await until(() => api().find(`/api/v1/namespaces/${own}/configmaps/attune-ledger-0`), { what: 'the ledger' });
  await first.kill9();
  expect(await api().find(`/api/v1/namespaces/${own}/configmaps/attune-ledger-1`)).toBeDefined();
  const some = names.slice(0, 20);
  for (const name of some) await change(name);
  await using _second = await start(shop, own);
  for (const name of some) await untilMarked(audit, DEPLOYMENT, name, { greeting: 'bye' });
  expect(rolls()).toEqual(wanted());
});

test('changes made while nobody was there are brought once, and nothing else is touched', async () => {
  const shop = await namespace('downtime');
  const own = await namespace('downtime-home');
  const moves = movesIn(shop);
  for (const name of ['changed', 'quiet', 'back', 'deleted', 'rolled']) {
    await moves.createSource('ConfigMap', name, { value: '1' });
    await moves.createUser(name, name);
  }
  await moves.createSource('Secret', 'hidden', { value: '1' });
  await moves.create(DEPLOYMENT, 'hidden', {
    annotations: AUTO,
    pod: { containers: [{ name: 'app', image: 'app', envFrom: [{ secretRef: { name: 'hidden' } }] }] },
  });
  await using audit = await Audit.of(shop, [DEPLOYMENT]);
  // What moves while pods are still being started is in some of them: then nobody can say that nothing changed.
  await audit.until('all are rolled out', () => audit.all(DEPLOYMENT).every(isObserved));
  const first = await start(shop, own);
  await moves.setData('ConfigMap', 'rolled', { value: '2' });
  await untilMarked(audit, DEPLOYMENT, 'rolled', { value: '2' });
  await first.kill9();

  await moves.setData('ConfigMap', 'changed', { value: '2' });
  await moves.setData('ConfigMap', 'rolled', { value: '3' });
  await moves.setData('Secret', 'hidden', { value: '2' });
  await moves.setData('ConfigMap', 'back', { value: '2' });
  await moves.setData('ConfigMap', 'back', { value: '1' });
  await moves.deleteSource('ConfigMap', 'deleted');
  await api().patch(pathOf('ConfigMap', shop, 'quiet'), { metadata: { labels: { only: 'metadata' } } });

  await using _second = await start(shop, own);
  await untilMarked(audit, DEPLOYMENT, 'changed', { value: '2' });
  await untilMarked(audit, DEPLOYMENT, 'rolled', { value: '3' });
  await untilMarked(audit, DEPLOYMENT, 'hidden', { value: '2' });
  const rolls = Object.fromEntries(
    ['changed', 'quiet', 'back', 'deleted', 'rolled', 'hidden'].map((name) => [name, rollsOf(audit, name)]),
  );
  expect(rolls).toEqual({ changed: 1, quiet: 0, back: 0, deleted: 0, rolled: 2, hidden: 1 });
});

test.each([
  ['the checkpoint is lost', [], true],
  ['the absence was too long', ['--catch-up-max=1ms'], false],
] as const)('when %s nothing is rolled for the past', async (_why, flags, lose) => {
  const shop = await namespace('baseline');
  const own = await namespace('baseline-home');
  const moves = movesIn(shop);
  for (const name of ['past', 'future']) {
    await moves.createSource('ConfigMap', name, { value: '1' });
    await moves.createUser(name, name);
  }
  await using audit = await Audit.of(shop, [DEPLOYMENT]);
  const first = await start(shop, own);
  await moves.setData('ConfigMap', 'past', { value: '2' });
  await untilMarked(audit, DEPLOYMENT, 'past', { value: '2' });
  await first.kill9();
  await moves.setData('ConfigMap', 'past', { value: '3' });
  if (lose) await api().delete(`/api/v1/namespaces/${own}/configmaps/attune-ledger-0`);

  await using second = await start(shop, own, flags);
  await second.untilLine(/everything that runs counts as current/);
  await moves.setData('ConfigMap', 'future', { value: '2' });
  await untilMarked(audit, DEPLOYMENT, 'future', { value: '2' });
  expect(rollsOf(audit, 'past')).toBe(1);
});

/** Names of Deployments that all go into one of 64 shards by a hash without a key. */
function collidingNames(space: string): readonly string[] {
  const hash = (text: string) => [...text].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) >>> 0, 0);
  const names = Array.from({ length: 1000 }, (_, n) => `evil-${n}`);
  return names.filter((name) => hash(`Deployment/${space}/${name}`) % 64 === 53).slice(0, 9);
}

test('one tenant cannot stop the ledger: what changes for another while nobody is there arrives', async () => {
  await using at = await stage({ spaces: 2 });
  const [shop = '', evil = ''] = at.spaces;
  const moves = movesIn(shop);
  const ledger = async () => (await api().list(pathOf('ConfigMap', at.home))).filter(isShard);
  const isShard = ({ metadata }: AnyObject) => metadata.name.startsWith('attune-ledger-');
  await moves.createSource('ConfigMap', 'app', { value: '1' });
  await moves.createUser('web', 'app');
  // Names that do not exist, in lists of 100 kB: together more than a ConfigMap holds. One list is larger than its share.
  const absent = (count: number, length: number) =>
    Array.from({ length: count }, (_, n) => String(n).padStart(length, 'x')).join(',');
  const ask = (name: string, list: string) => {
    const annotations = { 'pod-reloader.cs.sap.com/configmaps': list };
    return movesIn(evil).create(DEPLOYMENT, name, { annotations, spec: { replicas: 0 } });
  };
  for (const name of collidingNames(evil)) await ask(name, absent(1000, 100));
  await ask('greedy', absent(1000, 250));
  await using audit = await Audit.of(shop, [DEPLOYMENT]);
  await using told = await Audit.of(evil, ['Event']);
  const first = await at.start();
  const limits = () => told.all('Event').filter((event) => event['reason'] === 'LedgerLimit');
  await told.until('the tenant is told', () => limits().length > 0);
  expect(limits().map((event) => event['involvedObject'].name)).toEqual(['greedy']);
  const sizes = (await ledger()).map((shard) => Buffer.byteLength(shard['data'].ledger));
  expect(sizes.length).toBeGreaterThan(0);
  expect(Math.max(...sizes)).toBeLessThan(1_048_576);
  expect(first.lines.filter((line) => line.includes('refused'))).toEqual([]);
  await first.kill9();
  await moves.setData('ConfigMap', 'app', { value: '2' });
  await using second = await at.start();
  await second.untilLine(/ledger found/);
  await untilMarked(audit, DEPLOYMENT, 'web', { value: '2' });
});

test('what another reloader did meanwhile is not done again', async () => {
  const shop = await namespace('relay');
  const own = await namespace('relay-home');
  const moves = movesIn(shop);
  const names = Array.from({ length: 20 }, (_, n) => `web-${n}`);
  await using audit = await Audit.of(shop, [DEPLOYMENT]);
  const created: AnyObject[] = [];
  for (const name of names) {
    await moves.createSource('ConfigMap', name, { value: '1' });
    created.push(await moves.createUser(name, name));
  }
  await untilCounted(audit, created);
  const first = await start(shop, own);
  expect(await first.stop()).toBe(0);
  const relayed: AnyObject[] = [];
  for (const name of names) {
    await moves.setData('ConfigMap', name, { value: '2' });
    const env = [{ name: `STAKATER_${name.toUpperCase().replace('-', '_')}_CONFIGMAP`, value: sha1({ value: '2' }) }];
    const body = { spec: { template: { spec: { containers: [{ name: 'app', env }] } } } };
    relayed.push(await api().patch(pathOf(DEPLOYMENT, shop, name), body, 'strategic'));
  }
  await untilCounted(audit, relayed);
  await using _second = await start(shop, own);
  await moves.setData('ConfigMap', 'web-0', { value: '3' });
  await untilMarked(audit, DEPLOYMENT, 'web-0', { value: '3' });
  expect(names.slice(1).map((name) => rollsOf(audit, name))).toEqual(names.slice(1).map(() => 1));
});

test('nothing that is stored helps to guess a Secret', async () => {
  const shop = await namespace('guess');
  const own = await namespace('guess-home');
  const moves = movesIn(shop);
  await moves.createSource('Secret', 'db', { password: 'swordfish' });
  await moves.create(DEPLOYMENT, 'web', {
    annotations: AUTO,
    pod: { containers: [{ name: 'app', image: 'app', envFrom: [{ secretRef: { name: 'db' } }] }] },
  });
  await using controller = await start(shop, own, ['--reload-strategy=annotations']);
  await using audit = await Audit.of(shop, [DEPLOYMENT]);
  await moves.setData('Secret', 'db', { password: 'herring' });
  const object = await untilMarked(audit, DEPLOYMENT, 'web', { password: 'herring' });
  const ledger = await api().get(`/api/v1/namespaces/${own}/configmaps/attune-ledger-0`);
  const stored = JSON.stringify([object.metadata.annotations, ledger['data']]);
  for (const password of ['swordfish', 'herring']) {
    for (const trace of [password, Buffer.from(password).toString('base64'), sha1({ password })]) {
      expect(stored).not.toContain(trace);
      expect(controller.lines.join('\n')).not.toContain(trace);
    }
  }
});

test('a first start works before it can keep its ledger, and is ready when dying would lose nothing', async () => {
  const [shop, home] = await Promise.all([namespace('not-kept'), namespace('not-kept-home')]);
  const moves = movesIn(shop);
  for (const name of ['rolled', 'later']) {
    await moves.createSource('ConfigMap', name, { value: '1' });
    await moves.createUser(name, name);
  }
  await using audit = await Audit.of(shop, [DEPLOYMENT]);
  const proxy = await faultProxy();
  proxy.setRules([{ fault: { type: 'status', code: 503 }, verbs: ['create'], path: new RegExp(`${home}/configmaps`) }]);
  const options = { home, access: proxy.access, flags: [`--namespaces=${shop}`] };
  await using first = await startController({ ...options, untilReady: false });
  await first.untilLine(/no ledger to go by/);
  // What changes before it has read everything is what it finds there.
  await first.untilLine(/sources are watched/);
  await moves.setData('ConfigMap', 'rolled', { value: '2' });
  await untilMarked(audit, DEPLOYMENT, 'rolled', { value: '2' });
  expect((await first.ask('/readyz')).status).toBe(503);
  proxy.setRules([]);
  await first.untilLine(/Attune is ready/);
  expect((await first.ask('/readyz')).status).toBe(200);
  await first.kill9();
  await moves.setData('ConfigMap', 'later', { value: '2' });
  await using _second = await startController(options);
  await untilMarked(audit, DEPLOYMENT, 'later', { value: '2' });
});

test.each(['env-vars', 'annotations'])('a record names the template that the server stores: %s', async (strategy) => {
  const [shop, home] = await Promise.all([namespace('foretold'), namespace('foretold-home')]);
  const moves = movesIn(shop);
  const kinds = [DEPLOYMENT, 'StatefulSet', 'DaemonSet'] as const;
  await moves.createSource('ConfigMap', 'app', { value: '1' });
  const envFrom = [{ configMapRef: { name: 'app' } }];
  const pod = { containers: [{ name: 'app', image: 'app', env: [{ name: 'OWN', value: 'x' }], envFrom }] };
  for (const kind of kinds) await moves.create(kind, 'web', { annotations: AUTO, pod });
  await using audit = await Audit.of(shop, [...kinds]);
  await using _controller = await start(shop, home, [`--reload-strategy=${strategy}`]);
  const secret = await api().get(`/api/v1/namespaces/${home}/secrets/${KEY_SECRET}`);
  const { digest, keyId } = withKey(keysIn(secret as DataObject).key, false);
  for (const value of ['2', '3']) {
    await moves.setData('ConfigMap', 'app', { value });
    for (const kind of kinds) {
      const templates = () => audit.templates(kind, 'web').length;
      await audit.until(`${kind} has its template ${value}`, () => templates() === Number(value));
      const object = audit.latest(kind, 'web') as unknown as KubeObject;
      const row = kindNamed(kind) as WorkloadKind;
      const found = parseWorkload(row, object, {
        keys: DEFAULT_KEYS,
        compat: false,
        sapCompat: false,
        digest: digest.text,
      });
      const record = parseRecord(found.annotations[RECORD], found.uid, keyId);
      expect(record?.looks?.at(-1)?.[0]).toBe(shortDigest(found.fullTemplateDigest));
    }
  }
});
