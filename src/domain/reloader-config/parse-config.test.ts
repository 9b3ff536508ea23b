import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../api/objects.ts';
import { matchesOne } from '../asks/name-pattern.ts';
import { matches } from '../text/selector.ts';
import { parseReloaderConfig } from './parse-config.ts';

const IGNORE = 'reloader.stakater.com/ignore';
const WEB = { kind: 'Deployment', name: 'web' };
const SOUND = { watchedResources: { configMaps: ['app'] }, targets: [WEB] };

function parse(spec: unknown, annotations: Readonly<Record<string, string>> = {}) {
  const metadata = { namespace: 'shop', name: 'reload', uid: 'u1', resourceVersion: '7', generation: 3, annotations };
  const object = { metadata: { ...metadata, creationTimestamp: '2026-01-01T00:00:00Z' }, spec } as KubeObject;
  return parseReloaderConfig(object, IGNORE);
}

const problemsOf = (spec: unknown): readonly string[] =>
  parse(spec).problems.map(({ path, message }) => `${path}: ${message}`);

test('a sound one has no problems', () => {
  expect(parse(SOUND)).toMatchObject({
    ref: { namespace: 'shop', name: 'reload' },
    generation: 3,
    createdAt: '2026-01-01T00:00:00Z',
    isIgnored: false,
    autoReloadAll: false,
    resourceSelector: undefined,
    namespaceSelector: undefined,
    matchLabels: [],
    alerts: true,
    lifecycle: { reloadOnCreate: undefined, reloadOnDelete: undefined },
    problems: [],
  });
});

test('it asks since its spec was last written, whatever its status is', () => {
  const creationTimestamp = '2026-01-01T00:00:00Z';
  const wrote = (field: string, time: string) => ({ manager: 'any', time, fieldsV1: { [field]: {} } });
  const managedFields = [wrote('f:spec', '2026-01-02T00:00:00Z'), wrote('f:status', '2026-01-03T00:00:00Z')];
  const since = (fields?: unknown) =>
    parseReloaderConfig({ metadata: { creationTimestamp, managedFields: fields }, spec: SOUND } as never, IGNORE);
  expect(since(managedFields)).toMatchObject({ createdAt: creationTimestamp, askedSince: '2026-01-02T00:00:00Z' });
  expect(since().askedSince).toBe(creationTimestamp);
});

test('only the exact word "true" of the ignore annotation counts', () => {
  expect(parse(SOUND, { [IGNORE]: 'true' }).isIgnored).toBe(true);
  expect(parse(SOUND, { [IGNORE]: 'True' }).isIgnored).toBe(false);
});

describe('names', () => {
  test.each([
    ['my.config', 'my.config', true],
    ['my.config', 'my-config', false],
    ['a|b', 'b', true],
    ['a|b', 'ab', false],
    ['app-.*', 'app-1', true],
    ['app-.*', 'my-app-1', false],
    ['a|ab', 'ab', true],
  ])('%s matches %s: %s', (text, name, expected) => {
    const { names, problems } = parse({ ...SOUND, watchedResources: { secrets: [text] } });
    expect(matchesOne(names.Secret, name)).toBe(expected);
    expect(names.ConfigMap).toEqual([]);
    expect(problems).toEqual([]);
  });

  test.each(['[', 'a)|(b', '', ' app', 'My-Config', `${'(a{1000}){1000}'.repeat(100)}`])(
    '%j is a problem, the others count',
    (text) => {
      const { names, problems } = parse({ ...SOUND, watchedResources: { configMaps: [text, 'app'] } });
      expect(problems.map(({ path }) => path)).toEqual(['spec.watchedResources.configMaps[0]']);
      expect(names.ConfigMap.map((each) => each.text)).toEqual(['app']);
    },
  );
});

describe('selectors', () => {
  const selecting = (resourceSelector: unknown) => parse({ ...SOUND, watchedResources: { resourceSelector } });

  test('an empty one selects everything, none nothing', () => {
    expect(selecting({})).toMatchObject({ resourceSelector: [], problems: [] });
    expect(parse(SOUND).resourceSelector).toBeUndefined();
  });

  test.each([
    [{ matchLabels: { app: 'web' } }, { app: 'web' }, true],
    [{ matchLabels: { app: 'web' } }, { app: 'db' }, false],
    [{ matchExpressions: [{ key: 'app', operator: 'In', values: ['web', 'db'] }] }, { app: 'db' }, true],
    [{ matchExpressions: [{ key: 'app', operator: 'NotIn', values: ['web'] }] }, {}, true],
    [{ matchExpressions: [{ key: 'app', operator: 'Exists' }] }, {}, false],
    [{ matchExpressions: [{ key: 'app', operator: 'DoesNotExist', values: [] }] }, {}, true],
  ])('%j on %j: %s', (selector, labels, expected) => {
    const { resourceSelector, problems } = selecting(selector);
    expect(problems).toEqual([]);
    expect(matches(resourceSelector ?? [], labels)).toBe(expected);
  });

  test.each([
    [{ matchLabels: { 'a b': 'x' } }, 'matchLabels["a b"]'],
    [{ matchLabels: { app: 'a b' } }, 'matchLabels["app"]'],
    [{ matchLabels: { app: 1 } }, 'matchLabels["app"]'],
    [{ matchExpressions: [{ key: 'app', operator: 'in', values: ['x'] }] }, 'matchExpressions[0].operator'],
    [{ matchExpressions: [{ key: 'app', operator: 'In' }] }, 'matchExpressions[0]'],
    [{ matchExpressions: [{ key: 'app', operator: 'Exists', values: ['x'] }] }, 'matchExpressions[0]'],
    [{ matchExpressions: [{ key: '', operator: 'Exists' }] }, 'matchExpressions[0]'],
  ])('%j selects nothing', (selector, path) => {
    const { resourceSelector, problems } = selecting(selector);
    expect(problems.map((each) => each.path)).toEqual([`spec.watchedResources.resourceSelector.${path}`]);
    expect(resourceSelector).toBeUndefined();
  });

  test('labels that nothing can have leave nothing over', () => {
    const { matchLabels, problems } = parse({ ...SOUND, matchLabels: { app: 'a b' } });
    expect(matches(matchLabels, { app: 'a b' })).toBe(false);
    expect(problems.map(({ path }) => path)).toEqual(['spec.matchLabels["app"]']);
  });
});

describe('targets', () => {
  test('the target before the spec; nothing where neither says', () => {
    const { targets } = parse({
      ...SOUND,
      rolloutStrategy: 'restart',
      targets: [WEB, { kind: 'CronJob', name: 'tidy', rolloutStrategy: 'rollout', pausePeriod: '1m' }],
    });
    expect(targets).toMatchObject([
      { path: 'spec.targets[0]', rolloutStrategy: 'restart', reloadStrategy: undefined, pausePeriodMs: undefined },
      { path: 'spec.targets[1]', rolloutStrategy: 'rollout', pausePeriodMs: 60_000 },
    ]);
  });

  test('a namespace of its own, else that of the config', () => {
    const { targets } = parse({ ...SOUND, targets: [WEB, { ...WEB, namespace: 'other' }] });
    expect(targets.map(({ ref }) => ref.namespace)).toEqual(['shop', 'other']);
  });

  test.each([
    [true, true, true],
    [true, false, false],
    [false, true, false],
  ])('targeted %s, reference required %s: must reference %s', (enableTargetedReload, requireReference, expected) => {
    const watchedResources = { configMaps: ['app'], enableTargetedReload };
    const { targets } = parse({ watchedResources, targets: [{ ...WEB, requireReference }] });
    expect(targets[0]?.mustReference).toBe(expected);
  });

  test.each([
    ['kind', { kind: 'ReplicaSet', name: 'web' }],
    ['name', { kind: 'Deployment', name: '' }],
    ['name', { kind: 'Deployment', name: 'Web' }],
    ['namespace', { ...WEB, namespace: 'a.b' }],
    ['pausePeriod', { ...WEB, pausePeriod: '5' }],
    ['pausePeriod', { ...WEB, pausePeriod: '-5s' }],
    ['pausePeriod', { ...WEB, pausePeriod: 5 }],
    ['reloadStrategy', { ...WEB, reloadStrategy: 'env' }],
    ['rolloutStrategy', { ...WEB, rolloutStrategy: 'Restart' }],
    ['rolloutStrategy', { kind: 'CronJob', name: 'tidy', rolloutStrategy: 'restart' }],
    ['rolloutStrategy', { kind: 'Job', name: 'once', rolloutStrategy: 'restart' }],
  ])('wrong %s: this one asks for nothing, the next one does', (field, wrong) => {
    const next = { kind: 'Rollout', name: 'next', rolloutStrategy: 'restart' };
    const { targets, problems } = parse({ ...SOUND, targets: [wrong, next] });
    expect(problems.map(({ path }) => path)).toEqual([`spec.targets[0].${field}`]);
    expect(targets.map(({ ref }) => ref.name)).toEqual(['next']);
  });

  test('a wrong word in the spec stops those that rely on it, and is told once', () => {
    const own = { ...WEB, name: 'own', reloadStrategy: 'annotations' };
    const { targets, problems } = parse({
      ...SOUND,
      reloadStrategy: 'env',
      targets: [WEB, { ...WEB, name: 'b' }, own],
    });
    expect(problems.map(({ path }) => path)).toEqual(['spec.reloadStrategy']);
    expect(targets.map(({ ref }) => ref.name)).toEqual(['own']);
  });

  test('the first of two counts', () => {
    const { targets, problems } = parse({ ...SOUND, targets: [WEB, { ...WEB, namespace: 'shop', pausePeriod: '1m' }] });
    expect(targets).toMatchObject([{ path: 'spec.targets[0]', pausePeriodMs: undefined }]);
    expect(problems).toEqual([
      { path: 'spec.targets[1]', message: expect.stringContaining('the same workload as spec.targets[0]') },
    ]);
  });

  test('a thousand and more', () => {
    const many = Array.from({ length: 1500 }, (_, index) => ({ ...WEB, name: `web-${index}` }));
    expect(parse({ ...SOUND, targets: many })).toMatchObject({ targets: { length: 1500 }, problems: [] });
  });
});

test('what is ignored: any source, in one namespace or in all', () => {
  const ignoreResources = [
    { kind: 'Secret', name: 'a' },
    { kind: 'ConfigMap', name: 'b', namespace: 'other' },
    { kind: 'Pod', name: 'c' },
  ];
  const { ignored, problems } = parse({ ...SOUND, ignoreResources });
  expect(ignored).toEqual([
    { kind: 'Secret', name: 'a' },
    { kind: 'ConfigMap', name: 'b', namespace: 'other' },
    { kind: 'ConfigMap', name: 'c' },
    { kind: 'Secret', name: 'c' },
    { kind: 'SecretProviderClass', name: 'c' },
  ]);
  expect(problems.map(({ path }) => path)).toEqual(['spec.ignoreResources[2].kind']);
});

test.each<[unknown, string]>([
  [[{ kind: 'ConfigMap', name: 'App' }], 'spec.ignoreResources[0].name'],
  [[{ kind: 'ConfigMap', name: 'app*' }], 'spec.ignoreResources[0].name'],
  [[{ kind: 'ConfigMap', name: 'app' }, { kind: 'ConfigMap' }], 'spec.ignoreResources[1].name'],
  [['app'], 'spec.ignoreResources[0].name'],
  ['app', 'spec.ignoreResources'],
  [{ kind: 'ConfigMap', name: 'app' }, 'spec.ignoreResources'],
])('what is to be ignored and cannot be read, %j: nothing is asked for', (ignoreResources, path) => {
  const watchedResources = { configMaps: ['app'], secrets: ['app'], resourceSelector: {} };
  const { names, resourceSelector, autoReloadAll, problems } = parse({
    ...{ watchedResources, targets: [WEB], autoReloadAll: true, ignoreResources },
  });
  expect({ names, resourceSelector, autoReloadAll }).toEqual({
    ...{ names: { ConfigMap: [], Secret: [] }, resourceSelector: undefined, autoReloadAll: false },
  });
  expect(problems.at(-1)?.path).toBe(path);
  expect(problems.at(-1)?.message).toContain('until you correct it');
});

test.each([
  ['True', 1],
  ['yes', 1],
  ['false', 0],
  ['0', 0],
  ['', 0],
])('the annotation ignore: %j is told as a mistake %d times', (text, told) => {
  const { isIgnored, problems } = parse(SOUND, { [IGNORE]: text });
  expect(isIgnored).toBe(false);
  expect(problems.map(({ path }) => path)).toEqual(Array(told).fill(`metadata.annotations["${IGNORE}"]`));
});

test('what cannot be read leaves more out, and asks for less', () => {
  const watchedResources = { configMaps: ['app'], enableTargetedReload: 'yes' };
  const spec = {
    ...{ watchedResources, targets: [{ ...WEB, requireReference: 'yes' }], reloadOnCreate: 'no', reloadOnDelete: 1 },
    ignoreResources: [{ kind: 'ConfigMap', name: 'a', namespace: 'NO' }],
  };
  const { lifecycle, targets, ignored, problems } = parse(spec);
  expect(lifecycle).toEqual({ reloadOnCreate: false, reloadOnDelete: false });
  expect(targets.map(({ mustReference }) => mustReference)).toEqual([true]);
  expect(ignored).toEqual([{ kind: 'ConfigMap', name: 'a' }]);
  expect(problems).toHaveLength(5);
});

test('switches', () => {
  const spec = { ...SOUND, alerts: false, reloadOnCreate: true, reloadOnDelete: false, autoReloadAll: true };
  expect(parse(spec)).toMatchObject({
    alerts: false,
    autoReloadAll: true,
    lifecycle: { reloadOnCreate: true, reloadOnDelete: false },
    problems: [],
  });
});

test('one that can lead to nothing says why', () => {
  expect(problemsOf({})).toEqual([
    expect.stringContaining('spec.watchedResources: names no source'),
    expect.stringContaining('spec.targets: names no workload'),
  ]);
  expect(problemsOf({ autoReloadAll: true, targets: [WEB] })).toEqual([]);
});

test('any JSON is read, and what is odd is told', () => {
  const odd = fc.jsonValue();
  const spec = fc.record(
    {
      watchedResources: fc.oneof(odd, fc.record({ configMaps: odd, secrets: odd, resourceSelector: odd })),
      targets: fc.oneof(odd, fc.array(fc.record({ kind: odd, name: odd, namespace: odd, pausePeriod: odd }))),
      ignoreResources: odd,
      matchLabels: odd,
      rolloutStrategy: odd,
      alerts: odd,
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(fc.oneof(spec, odd), (value) => {
      for (const { path, message } of parse(value).problems) expect(path && message).not.toBe('');
    }),
    { numRuns: 500 },
  );
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(parseReloaderConfig({ metadata: value } as unknown as KubeObject, IGNORE).targets).toEqual([]);
    }),
  );
});

test('what is endless does no harm', () => {
  const deep = JSON.parse(`${'['.repeat(50_000)}${']'.repeat(50_000)}`) as unknown;
  expect(
    parse({ ...SOUND, targets: [{ kind: deep, name: deep, pausePeriod: deep }], alerts: deep }).problems,
  ).toHaveLength(3);
  const { problems } = parse({
    ...SOUND,
    watchedResources: { secrets: Array.from({ length: 5000 }, (_, n) => `${n} `) },
  });
  expect(problems).toHaveLength(1001);
  expect(problems.at(-1)).toEqual({ path: 'spec', message: '4000 more problems' });
});
