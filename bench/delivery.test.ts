import { describe, expect, it } from 'vitest';
import { deliveryOf, type Put, type Rollout } from './delivery.ts';
import { markIn, markOf } from './marks.ts';
import type { SourceName } from './objects.ts';

const put = (version: number, at: number, ...workloads: string[]): Put => ({ source: 'cm', version, at, workloads });
const rolled = (entries: Record<string, readonly (readonly [version: number, at: number])[]>) =>
  new Map(Object.entries(entries).map(([key, list]) => [key, list.map(([version, at]): Rollout => ({ version, at }))]));

describe('delivery', () => {
  it('times each workload of each change', () => {
    const { latencies, missed, surplus, expected } = deliveryOf(
      [put(10, 100, 'a', 'b'), put(20, 200, 'a')],
      rolled({
        a: [
          [11, 103],
          [21, 207],
        ],
        b: [[12, 105]],
      }),
    );
    expect(latencies).toEqual([3, 7, 5]);
    expect({ missed, surplus, expected }).toEqual({ missed: 0, surplus: 0, expected: 3 });
  });

  it('does not take an earlier template for the answer, even one that arrived later', () => {
    const { latencies, missed } = deliveryOf([put(10, 100, 'a')], rolled({ a: [[9, 150]] }));
    expect(latencies).toEqual([]);
    expect(missed).toBe(1);
  });

  it('counts a workload whose last change was not answered', () => {
    const { missed } = deliveryOf([put(10, 100, 'a'), put(20, 200, 'a')], rolled({ a: [[15, 150]] }));
    expect(missed).toBe(1);
  });

  it('lets one template answer several changes', () => {
    const { missed, surplus, rollouts, latencies } = deliveryOf(
      [put(10, 100, 'a'), put(20, 110, 'a')],
      rolled({ a: [[21, 120]] }),
    );
    expect({ missed, surplus, rollouts }).toEqual({ missed: 0, surplus: 0, rollouts: 1 });
    expect(latencies).toEqual([20, 10]);
  });

  it('counts templates that nobody asked for, per workload', () => {
    const { surplus } = deliveryOf(
      [put(10, 100, 'a'), put(20, 200, 'a')],
      rolled({
        a: [[25, 250]],
        b: [
          [11, 1],
          [12, 2],
        ],
      }),
    );
    expect(surplus).toBe(2);
  });

  it('sees a template that was made for the data before the last', () => {
    const source: SourceName = { kind: 'ConfigMap', namespace: 'n', name: 'my-app.conf' };
    const made = (value: string) =>
      JSON.stringify({ env: [{ name: 'STAKATER_MY_APP_CONF_CONFIGMAP', value: markOf({ value }) }] });
    const change = (version: number, value: string): Put => ({
      ...put(version, version, 'a'),
      isStale: (template) => (markIn(template, source) ?? markOf({ value })) !== markOf({ value }),
    });
    const changes = [change(10, 'old'), change(20, 'new')];
    const rollouts = rolled({ a: [[21, 30]] });
    expect(deliveryOf(changes, rollouts, () => made('old'))).toMatchObject({ missed: 0, behind: 1 });
    expect(deliveryOf(changes, rollouts, () => made('new'))).toMatchObject({ missed: 0, behind: 0 });
    expect(deliveryOf(changes, rollouts, () => '{"env":[]}')).toMatchObject({ missed: 0, behind: 0 });
    expect(deliveryOf(changes, rolled({}), () => made('old'))).toMatchObject({ missed: 1, behind: 0 });
  });
});

it('knows the mark of data as Stakater Reloader makes it', () => {
  // printf 'a=1;b=2' | sha1sum
  expect(markOf({ b: '2', a: '1' })).toBe('f83e99e324ba68ccc373a58ef1eb42f8ab88646a');
});
