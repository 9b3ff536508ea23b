import { getBuiltinModule } from 'node:process';
import { expect, test } from 'vitest';
import { digest } from '../../test/conformance/given.ts';
import { randomFrom } from '../../test/support/http-answers.ts';
import { rounds } from '../../test/support/soak.ts';
import { DEFAULT_KEYS } from '../api/annotations.ts';
import type { KubeObject } from '../api/objects.ts';
import type { Labels, Source } from '../domain/source/source.ts';
import { ObjectCache } from '../kube/watch/object-cache.ts';
import { createObjectParser } from './object-parser.ts';
import { labelsBytes } from './sources/label-sets.ts';
import { SourceHistory } from './sources/source-history.ts';

// 1e5 in `npm run soak`.
const EDITS = rounds(4000, 100_000);
const NAMES = 8;
const MB = 1e6;

getBuiltinModule('node:v8').setFlagsFromString('--expose-gc');
const gc: () => void = getBuiltinModule('node:vm').runInNewContext('gc');
function heapUsed(): number {
  gc();
  return process.memoryUsage().heapUsed;
}

/** Labels as tenants may set them: often those of before, now and then as many as fit into an object. */
function labelsFrom(random: () => number, last: Labels): Labels {
  const below = (limit: number) => Math.floor(random() * limit);
  if (random() < 0.3) return { ...last };
  const count = random() < 0.005 ? below(9000) : below(random() < 0.1 ? 100 : 6);
  const label = (at: number) => [`team-${at}`, String(below(random() < 0.5 ? 3 : 1e6)).padEnd(below(64), 'x')];
  return Object.fromEntries(Array.from({ length: count }, (_, at) => label(at)));
}

test(`${EDITS} edits of labels, up to all that fits into an object: nothing of the past is kept, no change is missed`, {
  timeout: 3_600_000,
}, () => {
  const random = randomFrom(1);
  const parser = createObjectParser({ keys: DEFAULT_KEYS, compat: false, sapCompat: false, digest });
  const cache = new ObjectCache<Source>((object, full, previous) => parser.source('ConfigMap', object, full, previous));
  const sources = new SourceHistory();
  const now = new Map<string, Labels>();
  const before = heapUsed();
  for (let edit = 1; edit <= EDITS; edit += 1) {
    // Some names come and go, and never come again.
    const name = random() < 0.1 ? `once-${edit}` : `cm-${Math.floor(random() * NAMES)}`;
    const last = now.get(name);
    const labels = labelsFrom(random, last ?? {});
    const metadata = { namespace: 'shop', name, uid: name, resourceVersion: String(2 * edit), labels };
    const object = JSON.parse(JSON.stringify({ metadata, data: {} })) as KubeObject;
    cache.apply({ type: 'MODIFIED', object }, (event) => {
      if (event.type !== 'add' && event.type !== 'change') return;
      const { flagsMoved } = sources.put(event.value, event.type === 'add');
      const isMoved = JSON.stringify(last ?? {}) !== JSON.stringify(labels);
      if (last) expect([edit, flagsMoved]).toEqual([edit, isMoved]);
      expect(sources.flags(event.value.ref).labels).toEqual(labels);
    });
    now.set(name, labels);
    if (!name.startsWith('once') && random() > 0.02) continue;
    const gone = { metadata: { ...object.metadata, resourceVersion: String(2 * edit + 1) } };
    cache.apply({ type: 'DELETED', object: gone }, (event) => {
      if (event.type === 'remove') sources.remove(event.previous.ref, Number(event.resourceVersion));
    });
    now.delete(name);
  }
  const living = [...now.values()].reduce((sum, labels) => sum + labelsBytes(labels), 0);
  // What is alive, what deleted sources had, the shared sets and 10,000 tombstones: each is bounded.
  expect((heapUsed() - before) / MB).toBeLessThan(24 + (4 * living) / MB);
  expect(sources.countIn('ConfigMap', 'shop')).toBeGreaterThan(NAMES);
});

test('labels of deleted sources are bounded by their memory: many short ones as well', () => {
  const parser = createObjectParser({ keys: DEFAULT_KEYS, compat: false, sapCompat: false, digest });
  const sources = new SourceHistory();
  const before = heapUsed();
  const labelsOf = (n: number) => Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`${n * 200 + at}-`, '']));
  const remove = (name: string, labels: Labels, version: number): Source => {
    const metadata = { namespace: 'shop', name, uid: name, resourceVersion: String(version), labels };
    const source = parser.source('ConfigMap', { metadata, data: {} } as KubeObject, true, undefined);
    sources.put(source, true);
    sources.remove(source.ref, version + 1);
    return source;
  };
  const first = remove('first', labelsOf(0), 1);
  for (let n = 0; n < 4000; n += 1) remove(`same-${n}`, { team: 'shop' }, 2 * n + 3);
  // Labels that many have are kept once, and hold up nothing.
  expect(Object.keys(sources.flags(first.ref).labels)).toHaveLength(200);
  let newest = first;
  for (let n = 1; n <= 4000; n += 1) newest = remove(`app-${n}`, labelsOf(n), 2 * n + 10_000);
  expect(Object.keys(sources.flags(newest.ref).labels)).toHaveLength(200);
  expect(sources.flags(first.ref).labels).toEqual({});
  expect((heapUsed() - before) / MB).toBeLessThan(24);
});
