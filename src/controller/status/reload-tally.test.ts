import { getBuiltinModule } from 'node:process';
import { describe, expect, test } from 'vitest';
import type { SourceRef } from '../../api/sources.ts';
import { ReloadTally } from './reload-tally.ts';

getBuiltinModule('node:v8').setFlagsFromString('--expose-gc');
const gc: () => void = getBuiltinModule('node:vm').runInNewContext('gc');
function heapUsed(): number {
  gc();
  return process.memoryUsage().heapUsed;
}

const APP: SourceRef = { kind: 'ConfigMap', namespace: 'shop', name: 'app' };
const DB: SourceRef = { kind: 'Secret', namespace: 'shop', name: 'db' };

test('a change is counted once for the config, and for each target that it reloads', () => {
  const tally = new ReloadTally();
  tally.reloaded('Deployment/shop/a', [{ ref: APP, current: '1' }], 't1');
  tally.reloaded('Deployment/shop/b', [{ ref: APP, current: '1' }], 't2');
  expect(tally.all).toEqual({ count: 1, lastTime: 't2' });
  tally.reloaded(
    'Deployment/shop/a',
    [
      { ref: APP, current: '2' },
      { ref: DB, current: '1' },
    ],
    't3',
  );
  expect(tally.all.count).toBe(3);
  expect([tally.of('Deployment/shop/a').count, tally.of('Deployment/shop/b').count]).toEqual([2, 1]);
});

test('a change that has to reload a target once more counts for both once more', () => {
  const tally = new ReloadTally();
  const reload = (target: 'a' | 'b') => {
    tally.reloaded(`Deployment/shop/${target}`, [{ ref: APP, current: '1' }], 't');
    return [tally.all.count, tally.of(`Deployment/shop/${target}`).count];
  };
  expect([reload('a'), reload('a')]).toEqual([
    [1, 1],
    [2, 2],
  ]);
  expect([reload('b'), reload('b')]).toEqual([
    [2, 1],
    [3, 2],
  ]);
});

test('what was counted is not kept for ever: the oldest of more than a thousand sources goes', () => {
  const tally = new ReloadTally();
  let targets = 0;
  const reload = (name: string): number => {
    targets += 1;
    tally.reloaded(`Deployment/shop/${targets}`, [{ ref: { ...APP, name }, current: '1' }], 't');
    return tally.all.count;
  };
  reload('first');
  for (let at = 1; at < 1000; at += 1) reload(`other-${at}`);
  expect(reload('first')).toBe(1000);
  expect(reload('one-more')).toBe(1001);
  expect(reload('other-2')).toBe(1001);
  expect(reload('first')).toBe(1002);
});

test('a target that the spec names no longer is forgotten, and all others count as before', () => {
  const tally = new ReloadTally();
  const reload = (target: string, current: string): number => {
    tally.reloaded(`Deployment/shop/${target}`, [{ ref: APP, current }], 't');
    return tally.all.count;
  };
  const targets = Array.from({ length: 100 }, (_, n) => `t${n}`);
  expect(targets.map((target) => reload(target, '1'))).toEqual(targets.map(() => 1));
  const kept = targets.filter((_, n) => n % 3 !== 0);
  tally.failed('Deployment/shop/t0', [{ id: 'ConfigMap/app' }], 'refused');
  tally.keepOnly(new Set(kept.map((target) => `Deployment/shop/${target}` as const)));
  expect([tally.of('Deployment/shop/t0').count, tally.of('Deployment/shop/t1').count]).toEqual([0, 1]);
  expect(tally.errorOf('Deployment/shop/t0', new Map([['ConfigMap/app', '1'] as const]))).toBeUndefined();
  // Other targets in their places have not reloaded it, and those that are left have.
  const others = Array.from({ length: 50 }, (_, n) => `other-${n}`);
  expect(others.map((target) => reload(target, '1'))).toEqual(others.map(() => 1));
  expect([reload('t1', '1'), reload('other-1', '1'), reload('other-1', '1')]).toEqual([2, 2, 3]);
});

test('what was counted takes bits, not an entry for each source and target', () => {
  const tally = new ReloadTally();
  const changes = Array.from({ length: 1000 }, (_, n) => ({ ref: { ...APP, name: `app-${n}` }, current: '1' }));
  const before = heapUsed();
  for (let target = 0; target < 300; target += 1) tally.reloaded(`Deployment/shop/t${target}`, changes, 't');
  expect(tally.all.count).toBe(1000);
  expect(heapUsed() - before).toBeLessThan(2_000_000);
});

describe('why something has not arrived', () => {
  const WEB = 'Deployment/shop/web';
  const change = (current: string) => ({ id: 'ConfigMap/app', current }) as const;
  const waiting = (current: string) => new Map([['ConfigMap/app', current] as const]);

  test('is told as long as something of the source waits: what is newer is tried no sooner', () => {
    const tally = new ReloadTally();
    tally.failed(WEB, [change('B'), { id: 'Secret/db' }], 'refused');
    expect(tally.errorOf(WEB, waiting('B'))).toBe('refused');
    expect(tally.errorOf(WEB, waiting('C'))).toBe('refused');
    expect(tally.errorOf(WEB, new Map([['ConfigMap/other', 'D'] as const]))).toBeUndefined();
  });

  test('a change that came back failed anew or not at all', () => {
    const tally = new ReloadTally();
    tally.failed(WEB, [change('B')], 'refused');
    expect(tally.errorOf(WEB, new Map())).toBeUndefined();
    expect(tally.errorOf(WEB, waiting('B'))).toBeUndefined();
  });

  test('as a status tells it, until nothing waits', () => {
    const tally = new ReloadTally();
    tally.recall({ targetStatus: [{ kind: 'Deployment', namespace: 'shop', name: 'web', lastError: 'refused' }] });
    expect(tally.errorOf(WEB, waiting('B'))).toBe('refused');
    expect(tally.errorOf(WEB, waiting('C'))).toBe('refused');
    expect(tally.errorOf(WEB, new Map())).toBeUndefined();
    expect(tally.errorOf(WEB, waiting('D'))).toBeUndefined();
  });
});
