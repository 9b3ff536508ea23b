import { getBuiltinModule } from 'node:process';
import { expect, test } from 'vitest';
import { digest, policyOf, rowOf } from '../../test/conformance/given.ts';
import { DEFAULT_KEYS, SAP_LISTS } from '../api/annotations.ts';
import type { KubeObject } from '../api/objects.ts';
import { expressionCosts } from '../domain/asks/expression.ts';
import { ExpressionBudget } from '../domain/asks/expression-budget.ts';
import { NameBudget } from '../domain/asks/name-budget.ts';
import { patternsIn } from '../domain/asks/name-pattern.ts';
import type { Source } from '../domain/source/source.ts';
import { ObjectCache } from '../kube/watch/object-cache.ts';
import { createObjectParser, type SeenWorkload } from './object-parser.ts';
import { ReverseIndex } from './reverse-index.ts';
import { SourceHistory } from './sources/source-history.ts';
import { Verdicts } from './verdicts.ts';

const MB = 1e6;

getBuiltinModule('node:v8').setFlagsFromString('--expose-gc');
const gc: () => void = getBuiltinModule('node:vm').runInNewContext('gc');

/** By how many MB the heap is larger after so many edits, each of which is sent by the server. */
function grownBy(edits: number, edit: (n: number, version: string) => void): number {
  const heapUsed = () => {
    gc();
    return process.memoryUsage().heapUsed / MB;
  };
  edit(0, '1');
  const before = heapUsed();
  for (let n = 1; n <= edits; n += 1) edit(n, String(n + 1));
  return heapUsed() - before;
}

const received = (object: object): KubeObject => JSON.parse(JSON.stringify(object)) as KubeObject;
const parser = () => createObjectParser({ keys: DEFAULT_KEYS, compat: false, sapCompat: false, digest });
/** 0.6 MB of labels, as the server accepts them. */
const manyLabels = (n: number) =>
  Object.fromEntries(Array.from({ length: 9000 }, (_, at) => [`label-${at}`, `value-${n}-`.padEnd(50, 'v')]));

test('labels of a ConfigMap that are edited again and again: those of the past are not kept', () => {
  const { source } = parser();
  const cache = new ObjectCache<Source>((object, full, previous) => source('ConfigMap', object, full, previous));
  const sources = new SourceHistory();
  const grown = grownBy(20, (n, resourceVersion) => {
    const metadata = { namespace: 'shop', name: 'app', uid: 'u', resourceVersion, labels: manyLabels(n) };
    cache.apply({ type: 'MODIFIED', object: received({ metadata, data: {} }) }, (event) => {
      if ('value' in event) sources.put(event.value, false);
    });
  });
  expect(grown).toBeLessThan(10);
});

test('labels of ConfigMaps that come and go under ever new names: those of the last few are kept', () => {
  const { source } = parser();
  const sources = new SourceHistory();
  const grown = grownBy(20, (n, resourceVersion) => {
    const metadata = { namespace: 'shop', name: `app-${n}`, uid: 'u', resourceVersion, labels: manyLabels(n) };
    const { ref } = source('ConfigMap', received({ metadata, data: {} }), true, undefined);
    sources.put(source('ConfigMap', received({ metadata, data: {} }), true, undefined), true);
    sources.remove(ref, n + 2);
    // Whoever is asked about the deletion still knows them.
    expect(Object.keys(sources.flags(ref).labels)).toHaveLength(9000);
  });
  expect(grown).toBeLessThan(12);
});

test.each([DEFAULT_KEYS.named.ConfigMap, DEFAULT_KEYS.exclude.ConfigMap, SAP_LISTS.ConfigMap])(
  'one name of a long list is kept without the list: %s',
  (key) => {
    const { workload } = parser();
    const cache = new ObjectCache<SeenWorkload>((object, _, previous) =>
      workload(rowOf('Deployment'), object, previous),
    );
    const names = new Set<string>();
    const grown = grownBy(100, (n, resourceVersion) => {
      const annotations = { [key]: `name-${key.length}-of-a-source-${n},${'other-name,'.repeat(22_000)}` };
      const metadata = { namespace: 'shop', name: 'web', uid: 'u', resourceVersion, generation: n, annotations };
      cache.apply({ type: 'MODIFIED', object: received({ metadata, spec: {} }) }, (event) => {
        const intent = 'value' in event ? event.value.workload.intent : undefined;
        for (const { wants } of intent?.asks ?? [])
          if ('patterns' in wants) names.add(`ConfigMap/${wants.patterns[0]?.text}`);
        for (const { names: refused = [] } of intent?.refusals ?? []) names.add(`ConfigMap/${[...refused][0]}`);
      });
    });
    expect(names.size).toBe(101);
    expect(grown).toBeLessThan(10);
  },
);

test('lists of 51,000 names: the first ones are kept, each in few bytes', () => {
  const configs = { asksFor: () => [], expressions: new ExpressionBudget(), names: new NameBudget() };
  const index = new ReverseIndex();
  const verdicts = new Verdicts({
    ...{ index, configs, sources: new SourceHistory(), policy: policyOf(), workload: () => undefined },
  });
  const { workload } = parser();
  const kept: SeenWorkload[] = [];
  let name = 36 ** 3;
  const grown = grownBy(4, (n, resourceVersion) => {
    const list = Array.from({ length: 51_000 }, () => (name++).toString(36)).join(',');
    const annotations = { [DEFAULT_KEYS.named.ConfigMap]: list };
    const metadata = { namespace: 'shop', name: `web-${n}`, uid: 'u', resourceVersion, generation: n, annotations };
    const spec = { template: { spec: { containers: [{ name: 'web' }] } } };
    const seen = workload(rowOf('Deployment'), received({ metadata, spec }));
    verdicts.enter(seen.workload);
    kept.push(seen);
  });
  expect(index.interestOf('Deployment/shop/web-4').literal).toHaveLength(10_000);
  expect(configs.names.sizeOf('shop')).toBe(50_000);
  // 40,000 names, and four annotations of 255 KB.
  expect(grown).toBeLessThan(20);
});

test('a Rollout that borrows ever other templates: owners of before are not kept', () => {
  const verdicts = new Verdicts({
    index: new ReverseIndex(),
    sources: new SourceHistory(),
    policy: policyOf(),
    configs: { asksFor: () => [], expressions: new ExpressionBudget(), names: new NameBudget() },
    workload: () => undefined,
  });
  const { workload } = parser();
  const grown = grownBy(40, (n, resourceVersion) => {
    const metadata = { namespace: 'shop', name: 'canary', uid: 'u', resourceVersion, generation: n };
    const workloadRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: `${n}`.padEnd(MB, 'x') };
    verdicts.enter(workload(rowOf('Rollout'), received({ metadata, spec: { workloadRef } })).workload);
  });
  expect(grown).toBeLessThan(10);
});

test.each<[string, (n: number) => string]>([
  ['short ones', (n) => `[x${n}].`],
  ['ones without regard to case', (n) => `(?i)\\W${n}`],
  ['ones with many classes', (n) => `${'[^xy]'.repeat(100)}${n}`],
  ['ones with many letters', (n) => `[x]${'y'.repeat(900)}${n}`],
])('expressions that are compiled, %s: those of one namespace are kept', (_, text) => {
  const { compiled } = expressionCosts();
  const grown = grownBy(6, (edit) => {
    const list = Array.from({ length: 8000 }, (__, n) => text(10_000 * edit + n)).join(',');
    for (const pattern of patternsIn(list.slice(0, 65_000), () => {})) pattern.matches('name');
  });
  expect(expressionCosts().compiled - compiled).toBeGreaterThan(200_000);
  expect(grown).toBeLessThan(40);
});

test('a class whose name no object can have is not kept', () => {
  const status = (secretProviderClassName: string) =>
    received({
      metadata: { namespace: 'shop', name: 'web-1', uid: 'u', resourceVersion: '1' },
      status: { secretProviderClassName, objects: [{ id: 'secret/a', version: '1' }] },
    });
  expect(parser().classStatus(status('vault'))?.className).toBe('vault');
  expect(parser().classStatus(status('x'.repeat(MB)))).toBeUndefined();
});
