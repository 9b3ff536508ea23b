import { describe, expect, test } from 'vitest';
import type { SourceRef } from '../../api/sources.ts';
import { ReloadTally } from './reload-tally.ts';

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
