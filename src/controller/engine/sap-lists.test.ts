import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { policyOf } from '../../../test/conformance/given.ts';
import { parsed, setUp, source } from '../../../test/support/engine-world.ts';
import { A, B, REFS, sapObject, sapWorld } from '../../../test/support/sap-world.ts';
import { DEFAULT_KEYS, SAP_DISABLING_LABELS, SAP_LISTS } from '../../api/annotations.ts';

const APP = 'ConfigMap/app';
const OTHER = 'ConfigMap/b';
const data = (value: string, version: number, ref = A) => source(value, version, ref);

describe('the ledger decides', () => {
  test('what runs at the first start counts as current, whatever hash was left on the template', () => {
    const world = sapWorld({ first: { templateAnnotations: {} } });
    expect(world.waits()).toEqual([]);
    world.seen(7, { hash: 'left by another program', revision: 2 });
    expect(world.waits()).toEqual([]);
  });

  test('data that changed waits; a label does not, nor does going back', () => {
    const world = sapWorld();
    world.put(data('A', 10));
    expect(world.waits()).toEqual([]);
    world.put(data('B', 11));
    expect(world.waits()).toEqual([APP]);
    world.put(data('A', 12));
    expect(world.waits()).toEqual([]);
  });

  test('what is created and what is deleted waits too', () => {
    const born = sapWorld({ absent: true });
    born.put(data('A', 10), true);
    born.put(data('A', 11, B), true);
    expect(born.waits()).toEqual([APP, OTHER]);
    const gone = sapWorld();
    gone.remove(A, 10);
    expect(gone.waits()).toEqual([APP]);
    gone.put(data('A', 11), true);
    expect(gone.waits()).toEqual([]);
  });

  test('every listed source is asked for, also where nobody read it yet', () => {
    const world = sapWorld({ absent: true });
    world.put({ ...data('A', 10), fingerprint: undefined }, true);
    expect(world.wanted).toEqual([A]);
  });

  test('a label switches it off, at once, and on again: what changed meanwhile is not news', () => {
    const world = sapWorld();
    world.put(data('B', 10));
    world.seen(11, { labels: { [SAP_DISABLING_LABELS[0]]: 'true' } });
    expect(world.waits()).toEqual([]);
    world.put(data('C', 12));
    expect(world.waits()).toEqual([]);
    world.seen(13);
    expect(world.waits()).toEqual([]);
    // It asks anew from here on.
    expect(world.state().editedAt).toBe(13);
    world.put(data('D', 14));
    expect(world.waits()).toEqual([APP]);
  });
});

describe("another's new template has what there was before it", () => {
  test.each([
    ['created', true],
    ['created, and heard of later', false],
  ])('%s', (_, isFirst) => {
    const world = sapWorld({ absent: true });
    if (isFirst) world.put(data('A', 10), true);
    world.seen(11, { image: 'v2', revision: 2 });
    if (!isFirst) world.put(data('A', 10), true);
    expect(world.waits()).toEqual([]);
    expect(world.told).toContain('settled-by-another-writer');
  });

  test('created after it', () => {
    const world = sapWorld({ absent: true });
    world.seen(11, { image: 'v2', revision: 2 });
    world.put(data('A', 12), true);
    expect(world.waits()).toEqual([APP]);
  });

  test('deleted, if it is known when', () => {
    const seen = sapWorld();
    seen.remove(A, 10);
    seen.seen(11, { image: 'v2', revision: 2 });
    expect(seen.waits()).toEqual([]);
    const noticed = sapWorld();
    noticed.seen(11, { image: 'v2', revision: 2 });
    noticed.engine.sourceChanged(A, noticed.sources.remove(A, 20, 8), 20);
    expect(noticed.waits()).toEqual([APP]);
    noticed.seen(21, { image: 'v3', revision: 3 });
    expect(noticed.waits()).toEqual([]);
  });

  test('there and gone again while pods were made: some of them may have it', () => {
    const world = sapWorld({ absent: true, first: { rolledOut: true } });
    world.seen(11, { image: 'v2', revision: 2, rolledOut: false });
    world.put(data('A', 12), true);
    world.remove(A, 13);
    expect(world.waits()).toEqual([APP]);
  });

  test('back to a template from before it was deleted, and perhaps to its pods', () => {
    const world = sapWorld({ first: { rolledOut: true } });
    world.remove(A, 10);
    world.seen(11, { image: 'v2', revision: 2, rolledOut: false });
    expect(world.waits()).toEqual([]);
    world.seen(12, { image: 'v1', revision: 3, rolledOut: false });
    expect(world.waits()).toEqual([APP]);
  });
});

describe('what came and went while nobody looked', () => {
  const LEDGER = { seq: 0, applied: { [APP]: 'A', [OTHER]: '-' } };

  test('deleted or created, of a workload that the ledger knows', () => {
    const world = sapWorld({ absent: true, entry: LEDGER });
    expect(world.waits()).toEqual([APP]);
    const born = sapWorld({ entry: { seq: 0, applied: { [APP]: 'A', [OTHER]: '-' } } });
    expect(born.waits()).toEqual([OTHER]);
  });

  test('back to a template from before, and the source is gone: its pods may have it', () => {
    const looks = [
      ['0000000000', 2],
      ['1111111111', 4],
    ] as const;
    const { workload } = sapWorld().state();
    const before = [workload.fullTemplateDigest.slice(0, 10), 2] as const;
    const applied = { [APP]: '-', [OTHER]: 'A' };
    const back = sapWorld({ absent: true, entry: { seq: 1, applied, revision: 'r9', looks: [before, looks[1]] } });
    expect(back.waits()).toContain(APP);
    const anew = sapWorld({ absent: true, entry: { seq: 1, applied, revision: 'r9', looks } });
    expect(anew.waits()).not.toContain(APP);
  });

  test('a workload that the ledger had no time to learn of, and a source that was made in a later second', () => {
    const start = (bornAt: string) => {
      const world = setUp({ aliveAt: Date.parse('2026-01-01T10:00:00Z'), policy: policyOf() });
      for (const ref of REFS) world.sources.put({ ...data('A', 9, ref), bornAt }, false);
      world.engine.workloadSeen(parsed(sapObject(6)), 'list');
      world.engine.begin();
      return world.waits();
    };
    expect(start('2026-01-01T10:00:09Z')).toEqual([APP, OTHER]);
    expect(start('2026-01-01T10:00:05Z')).toEqual([]);
  });

  test('a workload that only a listing shows may have begun with what is gone by now', () => {
    const world = setUp();
    for (const ref of REFS) world.sources.put(data('A', 5, ref), false);
    world.engine.begin();
    world.engine.sourceChanged(A, world.sources.remove(A, 30, 10), 30);
    world.engine.workloadSeen(parsed(sapObject(25)), 'list', 10);
    expect(world.waits()).toEqual([APP]);
  });
});

test('where its coming and going does not count, absence is nothing that a template could bring', () => {
  const annotations = { [SAP_LISTS.ConfigMap]: '', [DEFAULT_KEYS.named.ConfigMap]: 'app' };
  const world = sapWorld({ absent: true, first: { annotations, rolledOut: true } });
  world.seen(11, { annotations, image: 'v2', revision: 2, rolledOut: false });
  world.engine.workloadSeen(world.web(14, { annotations, image: 'v1', revision: 4, rolledOut: false }), 'list', 12);
  world.put(data('A', 15), true);
  expect(world.waits()).toEqual([]);
});

describe('as SAP, the hash decides', () => {
  /** Of the two ConfigMaps at these versions, by SAP's own algorithm. */
  const hashOf = (app: number | undefined, b: number | undefined): string => {
    const line = (name: string, version: number | undefined) =>
      `configmap/shop/${name}/${version === undefined ? '' : `${name}.${version}`}\n`;
    return createHash('sha256')
      .update(line('app', app) + line('b', b))
      .digest('hex');
  };
  const begun = (hash: string | undefined, absent?: true) => {
    const world = sapWorld({ sapCompat: true, ...(absent && { absent }) });
    if (hash !== undefined) world.seen(7, { hash, revision: 2 });
    return world;
  };

  test('at the first start: equal is at rest, missing or another is due', () => {
    expect(begun(hashOf(5, 5)).waits()).toEqual([]);
    expect(begun(undefined).waits()).toEqual([APP, OTHER]);
    expect(begun('another').waits()).toEqual([APP, OTHER]);
  });

  test('lists that come to a running workload: due, unless the template has their hash', () => {
    const world = sapWorld({ sapCompat: true, first: { annotations: { [SAP_LISTS.ConfigMap]: '' } } });
    expect(world.waits()).toEqual([]);
    world.seen(10);
    expect(world.waits()).toEqual([APP, OTHER]);
  });

  test('a write to metadata alone is one', () => {
    const world = begun(hashOf(5, 5));
    world.put(data('A', 10));
    expect(world.waits()).toEqual([APP]);
    world.seen(11, { hash: hashOf(10, 5), revision: 3 });
    expect(world.waits()).toEqual([]);
  });

  test('created and deleted', () => {
    const world = begun(hashOf(undefined, undefined), true);
    expect(world.waits()).toEqual([]);
    world.put(data('A', 10), true);
    expect(world.waits()).toEqual([APP]);
    world.remove(A, 11);
    expect(world.waits()).toEqual([]);
  });

  test('a new template with the old hash is due, and so is one by somebody who sets another', () => {
    const world = begun(hashOf(5, 5));
    world.put(data('B', 10));
    world.seen(11, { hash: hashOf(5, 5), image: 'v2', revision: 3 });
    expect(world.waits()).toEqual([APP, OTHER]);
    world.seen(12, { hash: hashOf(10, 5), image: 'v2', revision: 4 });
    expect(world.waits()).toEqual([]);
    world.seen(13, { hash: 'mine', image: 'v2', revision: 5 });
    expect(world.waits()).toEqual([APP, OTHER]);
  });

  test('what cannot be listed is not absent: then the ledger decides', () => {
    const world = sapWorld({ sapCompat: true, configHash: () => undefined });
    expect(world.waits()).toEqual([]);
    world.put(data('A', 10));
    expect(world.waits()).toEqual([]);
    world.put(data('B', 11));
    expect(world.waits()).toEqual([APP]);
  });

  test("what Stakater's annotations ask for is judged as ever", () => {
    const annotations = { [SAP_LISTS.ConfigMap]: '', [DEFAULT_KEYS.named.ConfigMap]: 'app' };
    const world = sapWorld({ sapCompat: true, first: { annotations } });
    world.put(data('A', 10));
    expect(world.waits()).toEqual([]);
    world.put(data('B', 11));
    expect(world.waits()).toEqual([APP]);
  });
});

test('under --compat=sap a list of thousands is digested once, not once for each name', () => {
  const LISTED = 3000;
  let digested = 0;
  const policy = { ...policyOf(), sapCompat: true };
  const configHash = () => {
    digested += 1;
    return 'hash';
  };
  const { engine, put } = setUp({ policy, configHash });
  const names = Array.from({ length: LISTED }, (_, n) => `name-${n}`);
  const object = sapObject(3, { annotations: { [SAP_LISTS.ConfigMap]: names.join(',') } });
  engine.workloadSeen(parsed(object, true), 'list');
  engine.begin();
  expect(engine.states.get('Deployment/shop/web')?.applied.size).toBeGreaterThanOrEqual(LISTED);
  expect(digested).toBeLessThan(10);
  const before = digested;
  put(source('B', 10, { kind: 'ConfigMap', namespace: 'shop', name: 'name-0' }), true);
  expect(digested).toBe(before + 1);
});
