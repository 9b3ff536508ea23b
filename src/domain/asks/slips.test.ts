import { describe, expect, test } from 'vitest';
import { type Given, objectOf, parse, rowOf } from '../../../test/conformance/given.ts';
import { DEFAULT_KEYS, ON_CHANGE, QUIET_PERIOD, ROLLOUT_STRATEGY } from '../../api/annotations.ts';
import type { KindName } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/objects.ts';
import { slipsIn } from './slips.ts';

const DIALECT = { keys: DEFAULT_KEYS, compat: false, sapCompat: false };
const { auto, named, exclude, match, ignore, pausePeriod, typedAuto } = DEFAULT_KEYS;

function slips(given: Given, labels: object = {}, keys = DEFAULT_KEYS): readonly string[] {
  const object = objectOf(given);
  const labelled = { ...object, metadata: { ...object.metadata, labels } } as KubeObject;
  const dialect = { ...DIALECT, keys, sapCompat: given.sapCompat ?? false };
  return slipsIn(rowOf(given.kind ?? 'Deployment'), labelled, dialect).map(({ path, message }) => `${path} ${message}`);
}

describe('a key that nobody reads', () => {
  test.each([
    ['reloader.stakater.com/autos', auto],
    ['configmaps.reloader.stakater.com/reload', named.ConfigMap],
    ['secrets.reloader.stakater.com/auto', typedAuto.Secret],
    ['configmap.exclude.reloader.stakater.com/reload', exclude.ConfigMap],
    ['secret.reloader.stakater.com/reloads', named.Secret],
    ['deployments.reloader.stakater.com/pause-period', pausePeriod],
    ['reloader.stakater.com/Auto', auto],
    ['attune.dev/quiet-periods', QUIET_PERIOD],
  ])('%s: did you mean %s?', (key, meant) => {
    expect(slips({ metadata: { [key]: 'true' } })).toEqual([`${key} is not read: did you mean ${meant}?`]);
    expect(slips({ template: { 'reloader.stakater.com/autos': 'true' } })).toHaveLength(1);
  });

  test('without a guess where there is none', () => {
    expect(slips({ metadata: { 'reloader.stakater.com/please': 'true' } })).toEqual([
      'reloader.stakater.com/please is not read',
    ]);
  });

  test('not one that has nothing to do with it, nor one that another reloader reads', () => {
    expect(slips({ metadata: { 'example.com/autos': 'true', 'stakater.com/auto': 'true' } })).toEqual([]);
    expect(slips({ metadata: { [auto]: 'true' } }, {}, { ...DEFAULT_KEYS, auto: 'example.com/auto' })).toEqual([]);
  });
});

test('an annotation that is set as a label', () => {
  expect(slips({}, { [auto]: 'true', app: 'web' })).toEqual([`${auto} is a label here, and only annotations are read`]);
});

describe('a wildcard that is none', () => {
  test.each([
    ['c0*', 'c0.*'],
    ['other, app-*', 'app-.*'],
  ])('%s', (list, meant) => {
    const element = list.split(', ').at(-1);
    const message = `"${element}" is a regular expression and no wildcard: did you mean "${meant}"?`;
    for (const place of ['metadata', 'template'] as const) {
      expect(slips({ [place]: { [named.ConfigMap]: list } })).toEqual([`${named.ConfigMap} ${message}`]);
    }
  });

  test.each(['app-.*', '*', 'app', 'a|b*', '[ab]*', '(a)*', 'a\\d*'])('%s means what it says', (list) => {
    expect(slips({ metadata: { [named.ConfigMap]: list } })).toEqual([]);
  });
});

describe('the wrong place', () => {
  test.each([exclude.ConfigMap, exclude.Secret, pausePeriod, QUIET_PERIOD, ON_CHANGE])('%s in the template', (key) => {
    expect(slips({ template: { [key]: 'x' } })).toEqual([
      `${key} has no effect in the pod template: it is read from metadata alone`,
    ]);
  });

  test.each([
    [match, ''],
    [ignore, `. To exclude the workload, as in reloader-operator, set ${auto}: "false"`],
  ])('%s on a workload', (key, instead) => {
    const said = `${key} has no effect on a StatefulSet: it belongs on the ConfigMap or Secret${instead}`;
    expect(slips({ kind: 'StatefulSet', metadata: { [key]: 'true' } })).toEqual([said]);
  });

  test.each<[KindName, string]>([
    ['Deployment', '. To restart its pods, as in reloader-operator, set rolloutStrategy: restart in a ReloaderConfig'],
    ['DaemonSet', '. To restart its pods, as in reloader-operator, set rolloutStrategy: restart in a ReloaderConfig'],
    ['CronJob', ''],
  ])('restart on a %s', (kind, instead) => {
    expect(slips({ kind, metadata: { [ROLLOUT_STRATEGY]: 'restart' } })).toEqual([
      `${ROLLOUT_STRATEGY} has no effect on a ${kind}: only an Argo Rollout reads it${instead}`,
    ]);
    expect(slips({ kind, metadata: { [ROLLOUT_STRATEGY]: 'rollout' } })).toEqual([]);
    expect(slips({ kind: 'Rollout', metadata: { [ROLLOUT_STRATEGY]: 'restart' } })).toEqual([]);
  });
});

test('what is right is no slip', () => {
  const metadata = { [auto]: 'true', [named.Secret]: 'a', [exclude.Secret]: 'b', [pausePeriod]: '5m' };
  const written = { 'reloader.stakater.com/last-reloaded-from': '{}', 'reloader.stakater.com/last-reload': 'a time' };
  expect(slips({ metadata: { ...metadata, ...written }, template: { [auto]: 'true', ...written } })).toEqual([]);
});

test('a run of a CronJob repeats nothing that its CronJob was told', () => {
  const job = objectOf({ kind: 'Job', template: { 'reloader.stakater.com/autos': 'true' } });
  const ownerReferences = [{ kind: 'CronJob', name: 'web', controller: true }];
  const owned = { ...job, metadata: { ...job.metadata, ownerReferences } } as KubeObject;
  expect(slipsIn(rowOf('Job'), owned, DIALECT)).toEqual([]);
});

test('they are among the problems of a workload, but not where upstream would stay silent', () => {
  const object = objectOf({ metadata: { 'reloader.stakater.com/autos': 'true' } });
  expect(parse('Deployment', object).intent.problems).toMatchObject([{ path: 'reloader.stakater.com/autos' }]);
  expect(parse('Deployment', object, true).intent.problems).toEqual([]);
});

test('an annotation can be long, and is not repeated in full', () => {
  const [said = ''] = slips({ metadata: { [named.ConfigMap]: `${'x'.repeat(1000)}*` } });
  expect(said.length).toBeLessThan(300);
});

test('an exclude list with something that no object can be called', () => {
  const key = DEFAULT_KEYS.exclude.ConfigMap;
  const why = 'excludes nothing: no ConfigMap can have that name, and names are taken letter by letter';
  expect(slips({ metadata: { [key]: 'app, app-.*, "app", App' } })).toEqual([
    `${key} "app-.*" ${why}`,
    `${key} ${JSON.stringify('"app"')} ${why}`,
    `${key} "App" ${why}`,
  ]);
});
