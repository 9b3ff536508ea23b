import { beforeAll, expect, test } from 'vitest';
import { type FaultProxy, faultProxy } from '../../support/proxy.ts';
import { api } from '../../support/sandbox.ts';
import { until } from '../../support/wait.ts';
import { type ConfigWorld, change, configPath, configWorld, type Shop } from './config-world.ts';

let world: ConfigWorld;
let own: Shop;
let other: Shop;
let proxy: FaultProxy;

beforeAll(async () => {
  proxy = await faultProxy();
  world = await configWorld({ shops: 2 });
  [own, other] = world.shops as [Shop, Shop];
  await world.start({ access: proxy.access });
  return () => world[Symbol.asyncDispose]();
});

const theirs = (name: string) => ({ kind: 'Deployment', name, namespace: other.name });
const watching = (name: string) => ({ watchedResources: { configMaps: [name] } });
const statusOf = async (name: string) => (await api().get(configPath(own.name, name)))['status'];

test('a target in another namespace: not without its consent, with it, and no longer when it is withdrawn', async () => {
  await own.source('ConfigMap', 'target');
  await other.target('Deployment', 'target');
  // Counts what is asked of that namespace, and harms nobody.
  const path = new RegExp(`/namespaces/${other.name}\\b`);
  proxy.setRules([{ fault: { type: 'delay', ms: 0 }, path }]);
  const asked = proxy.faults;
  await own.config('target', { ...watching('target'), targets: [theirs('target'), theirs('not-there')] });
  await change(own, 'ConfigMap', 'target');
  await world.fence();
  expect(other.rolls('target')).toBe(0);
  expect(proxy.faults - asked).toBe(0);
  const status = () => statusOf('target');
  await until(async () => (await status())?.targetStatus?.length === 2, { what: 'a status' });
  // Whether it is there or not, no more is said than what the config itself says.
  const names = ({ namespace, ...rest }: { readonly namespace: string }) => ({
    namespace,
    keys: Object.keys(rest).sort(),
  });
  const nothing = { namespace: other.name, keys: ['kind', 'name'] };
  expect((await status()).targetStatus.map(names)).toEqual([nothing, nothing]);
  proxy.setRules([]);

  await world.allow(other, `x, ${own.name}`);
  await world.fence();
  expect(other.rolls('target')).toBe(0);
  await change(own, 'ConfigMap', 'target');
  await other.untilRolled('target', 1);
  const told = async () => (await status()).targetStatus[0].reloadCount as number | undefined;
  await until(async () => (await told()) === 1, { what: 'the reload being counted' });

  const wait = (period: string) =>
    other.moves.annotate('Deployment', 'target', { 'attune.dev/quiet-period': period, 'attune.dev/max-wait': period });
  await wait('60s');
  await change(own, 'ConfigMap', 'target');
  await world.fence();
  await world.allow(other, null);
  // Namespaces and workloads are told by two watches: what is withdrawn must be known before the time comes.
  await until(async () => (await told()) === undefined, { what: 'no word any more about the other namespace' });
  // Now it goes at once, if anything waits.
  await wait('0s');
  await world.fence();
  expect(other.rolls('target')).toBe(1);
});

test('sources of other namespaces: only of those that a selector matches and that allow it', async () => {
  await other.source('ConfigMap', 'foreign');
  await own.source('ConfigMap', 'foreign');
  await own.target('Deployment', 'foreign');
  const namespaceSelector = { matchLabels: { 'kubernetes.io/metadata.name': other.name } };
  await own.config('foreign', {
    watchedResources: { configMaps: ['foreign'], namespaceSelector },
    targets: [{ kind: 'Deployment', name: 'foreign' }],
  });
  await world.fence();
  await change(other, 'ConfigMap', 'foreign');
  await world.fence();
  expect(own.rolls('foreign')).toBe(0);

  await world.allow(other, own.name);
  await world.fence();
  expect(own.rolls('foreign')).toBe(0);
  // The two share a variable, and hold the same: each of them is a reason.
  await other.moves.setData('ConfigMap', 'foreign', { value: 'same' });
  await own.untilRolled('foreign', 1);
  await own.moves.setData('ConfigMap', 'foreign', { value: 'same' });
  await own.untilRolled('foreign', 2);

  const untilWatched = (count: number) =>
    until(async () => (await statusOf('foreign')).watchedResourceCount === count, { what: `${count} sources` });
  await untilWatched(2);
  await world.allow(other, null);
  await untilWatched(1);
  await change(other, 'ConfigMap', 'foreign');
  await world.fence();
  expect(own.rolls('foreign')).toBe(2);
});

test('the flag allows it where Namespaces cannot be read', async () => {
  await own.source('ConfigMap', 'by-flag');
  await other.target('Deployment', 'by-flag');
  await own.config('by-flag', { ...watching('by-flag'), targets: [theirs('by-flag')] });
  await other.source('ConfigMap', 'far');
  await own.target('Deployment', 'far');
  const namespaceSelector = { matchLabels: { 'kubernetes.io/metadata.name': other.name } };
  await own.config('far', {
    watchedResources: { configMaps: ['far'], namespaceSelector },
    targets: [{ kind: 'Deployment', name: 'far' }],
  });
  await world.running[0]?.stop();
  const both = `--namespaces=${own.name},${other.name}`;
  await world.start({ flags: [both, `--allow-reloads=${other.name}=${own.name}`] });
  await change(own, 'ConfigMap', 'by-flag');
  await other.untilRolled('by-flag', 1);
  await change(other, 'ConfigMap', 'far');
  await own.untilRolled('far', 1);
});
