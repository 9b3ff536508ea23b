import { expect, test } from 'vitest';
import { MAX_WAIT, ON_CHANGE, QUIET_PERIOD, RECORD, ROLLOUT_STRATEGY } from '../../../src/api/annotations.ts';
import type { KindName } from '../../../src/api/kinds.ts';
import { installKinds } from '../../support/crds.ts';
import { api } from '../../support/sandbox.ts';
import { pathOf, podUsing, sha1 } from '../../support/workloads.ts';
import { AUTO, marksOf, untilMarked } from './moves.ts';
import { DEFAULT, MODES, scene } from './scene.ts';

const V1 = { value: '1' };
const V2 = { value: '2' };
const NAMED = 'configmap.reloader.stakater.com/reload';
const pod = podUsing({ kind: 'ConfigMap', name: 'app' }, 'envFrom');

interface Bad {
  readonly kind: KindName;
  readonly annotations: Readonly<Record<string, string>>;
  readonly field: string;
  readonly expected: RegExp;
  /** Whether it rolls all the same, `compat`: only there. */
  readonly rolls: boolean | 'compat';
}

const CASES: Readonly<Record<string, Bad>> = {
  'regex-beside-a-good-one': {
    kind: 'Deployment',
    annotations: { [NAMED]: 'bad[,app' },
    field: NAMED,
    expected: /bad\[.*RE2/,
    rolls: true,
  },
  'regex-alone': { kind: 'Deployment', annotations: { [NAMED]: 'app[' }, field: NAMED, expected: /RE2/, rolls: false },
  'look-ahead': {
    kind: 'Deployment',
    annotations: { [NAMED]: 'a(?=pp)' },
    field: NAMED,
    expected: /RE2/,
    rolls: false,
  },
  'element-too-long': {
    kind: 'Deployment',
    annotations: { [NAMED]: `${'['.repeat(60_000)},app` },
    field: NAMED,
    expected: /an element may have at most 1,000 characters/,
    rolls: true,
  },
  'expression-too-large': {
    kind: 'Deployment',
    annotations: { [NAMED]: `app,(${'x'.repeat(58)}){1000}` },
    field: NAMED,
    expected: /an expression may have at most 4,096 instructions/,
    rolls: true,
  },
  'auto-yes': {
    kind: 'Deployment',
    annotations: { 'reloader.stakater.com/auto': 'yes', [NAMED]: 'app' },
    field: 'reloader.stakater.com/auto',
    expected: /"true" or "false".*"yes"/,
    rolls: 'compat',
  },
  'search-yes': {
    kind: 'Deployment',
    annotations: { 'reloader.stakater.com/search': 'yes', [NAMED]: 'app' },
    field: 'reloader.stakater.com/search',
    expected: /"true".*"yes"/,
    rolls: true,
  },
  'quiet-period': {
    kind: 'Deployment',
    annotations: { ...AUTO, [QUIET_PERIOD]: 'soon' },
    field: QUIET_PERIOD,
    expected: /duration.*"soon"/,
    rolls: true,
  },
  'max-wait': {
    kind: 'StatefulSet',
    annotations: { ...AUTO, [MAX_WAIT]: '-1s' },
    field: MAX_WAIT,
    expected: /duration.*"-1s"/,
    rolls: true,
  },
  'on-change': {
    kind: 'DaemonSet',
    annotations: { ...AUTO, [ON_CHANGE]: 'run' },
    field: ON_CHANGE,
    expected: /CronJob and Job/,
    rolls: true,
  },
  'rollout-strategy': {
    kind: 'Rollout',
    annotations: { ...AUTO, [ROLLOUT_STRATEGY]: 'restartt' },
    field: ROLLOUT_STRATEGY,
    expected: /"rollout" or "restart".*"restartt"/,
    rolls: true,
  },
};

test.each(MODES)(
  'one Event and one log line, with the field and what was expected; nobody else is affected: %s',
  async (mode) => {
    await installKinds(['Rollout']);
    await using here = await scene(['StatefulSet', 'DaemonSet', 'Rollout', 'Event']);
    await here.createSource('ConfigMap', 'app', V1);
    for (const [name, { kind, annotations }] of Object.entries(CASES))
      await here.create(kind, name, { annotations, pod });
    const attune = await here.start([mode, '--is-Argo-Rollouts=true']);
    const isRolled = ({ rolls }: Bad): boolean => (rolls === 'compat' ? mode !== DEFAULT : rolls);
    await here.setData('ConfigMap', 'app', V2);
    for (const [name, each] of Object.entries(CASES))
      if (isRolled(each)) await untilMarked(here.audit, each.kind, name, V2);
    // Status and other annotations move all the time; the complaint is not repeated.
    for (const [name, { kind }] of Object.entries(CASES)) await here.annotate(kind, name, { other: 'annotation' });
    const complaintsOf = (name: string) =>
      here.audit.all('Event').filter((event) => event['involvedObject'].name === name && event['type'] === 'Warning');
    // Events go out after all writes.
    for (const name of Object.keys(CASES)) {
      await here.audit.until(`the Event of ${name}`, () => complaintsOf(name).length > 0);
    }
    await here.fence.pass();

    for (const [name, each] of Object.entries(CASES)) {
      const { kind, field, expected } = each;
      const complaints = complaintsOf(name);
      expect(
        complaints.map((event) => event['count'] ?? 1),
        name,
      ).toEqual([1]);
      expect(complaints[0]?.['message'], name).toContain(field);
      expect(complaints[0]?.['message'], name).toMatch(expected);
      const errors = attune.lines.filter((line) => line.includes('level=error'));
      const lines = errors.filter((line) => line.includes(`${kind} ${here.space}/${name}`) && line.includes(field));
      expect(lines, name).toHaveLength(1);
      expect(here.audit.templates(kind, name).length, name).toBe(isRolled(each) ? 2 : 1);
    }
  },
);

test.each(MODES)(
  'a slip is told once, also if it is made later, and not where upstream is silent: %s',
  async (mode) => {
    await using here = await scene(['Event']);
    await here.createSource('ConfigMap', 'app', V1);
    const slips = { early: { ...AUTO, 'reloader.stakater.com/autos': 'true' }, late: AUTO };
    for (const [name, annotations] of Object.entries(slips))
      await here.create('Deployment', name, { annotations, pod });
    await here.start([mode]);
    await here.annotate('Deployment', 'late', { 'configmaps.reloader.stakater.com/reload': 'app' });
    await here.setData('ConfigMap', 'app', V2);
    for (const name of Object.keys(slips)) await untilMarked(here.audit, 'Deployment', name, V2);
    const said = (name: string) =>
      here.audit
        .all('Event')
        .filter((event) => event['involvedObject'].name === name && event['type'] === 'Warning')
        .map((event) => event['message']);
    if (mode === DEFAULT) {
      for (const name of Object.keys(slips)) {
        await here.audit.until(`the Event of ${name}`, () => said(name).length > 0);
      }
    }
    await here.fence.pass();
    const expected = (text: string) => (mode === DEFAULT ? [expect.stringContaining(text)] : []);
    expect(said('early')).toEqual(expected('did you mean reloader.stakater.com/auto?'));
    expect(said('late')).toEqual(expected('did you mean configmap.reloader.stakater.com/reload?'));
  },
);

test('a damaged or copied record is no record, and harms nobody', async () => {
  await using here = await scene();
  await here.createSource('ConfigMap', 'app', V1);
  const copied = { v: 1, uid: 'another', seq: 9, key: 'k', template: 't', sources: { 'ConfigMap/app': 'x' } };
  const texts = { json: '{"v":1,', list: '[]', odd: '{"uid":5}', foreign: JSON.stringify(copied), empty: '' };
  for (const [name, record] of Object.entries(texts)) {
    await here.createUser(name, 'app', { annotations: { ...AUTO, [RECORD]: record } });
  }
  const attune = await here.start([DEFAULT]);
  await here.fence.pass();
  for (const name of Object.keys(texts)) expect(here.audit.templates('Deployment', name), name).toHaveLength(1);
  await here.setData('ConfigMap', 'app', V2);
  for (const name of Object.keys(texts)) await untilMarked(here.audit, 'Deployment', name, V2);
  await attune.stop();
  await here.start([DEFAULT]);
  await here.fence.pass();
  for (const name of Object.keys(texts)) expect(here.audit.templates('Deployment', name), name).toHaveLength(2);
});

test.each(MODES)('names of 253 characters, a mebibyte of data, bytes that are no text: %s', async (mode) => {
  await using here = await scene();
  const long = `${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(61)}`;
  expect(long).toHaveLength(253);
  await here.createSource('ConfigMap', long, V1);
  await here.createSource('ConfigMap', 'large', V1);
  await here.createSource('Secret', 'binary', V1);
  await here.createUser('uses-long', long);
  await here.createUser('uses-large', 'large');
  await here.create('Deployment', 'uses-binary', {
    annotations: AUTO,
    pod: podUsing({ kind: 'Secret', name: 'binary' }, 'volume'),
  });
  await here.start([mode]);
  const large = { value: 'x'.repeat(1_000_000) };
  await here.setData('ConfigMap', long, V2);
  await here.setData('ConfigMap', 'large', large);
  await api().patch(pathOf('Secret', here.space, 'binary'), { data: { value: null, blob: '//4AAQ==' } });
  const marked = await untilMarked(here.audit, 'Deployment', 'uses-long', V2);
  expect(Object.keys(marksOf('Deployment', marked))[0]).toHaveLength('app/STAKATER__CONFIGMAP'.length + 253);
  const huge = await untilMarked(here.audit, 'Deployment', 'uses-large', large);
  expect(marksOf('Deployment', huge)).toEqual({ 'app/STAKATER_LARGE_CONFIGMAP': sha1(large) });
  // V14 of the contract.
  const ofBinary = () => marksOf('Deployment', here.audit.latest('Deployment', 'uses-binary'));
  await here.audit.until('the mark of bytes', () => Object.keys(ofBinary()).length > 0);
  await here.fence.pass();
  expect(ofBinary()).toEqual({ 'app/STAKATER_BINARY_SECRET': 'fc302551bf07e498ac1cc51a34adb2d7c2974724' });
});

test('a workload that the server refuses to change is told once, left alone, and tried when it changes', async () => {
  await using here = await scene(['Event']);
  await here.createSource('ConfigMap', 'app', V1);
  // A name of a variable that already stands there with a source: both may not be set.
  const env = [{ name: 'STAKATER_APP_CONFIGMAP', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }];
  const container = { name: 'app', image: 'app', envFrom: [{ configMapRef: { name: 'app' } }], env };
  await here.create('Deployment', 'refused', { annotations: AUTO, pod: { containers: [container] } });
  await here.createUser('web', 'app');
  await here.start([DEFAULT]);
  await here.setData('ConfigMap', 'app', V2);
  await untilMarked(here.audit, 'Deployment', 'web', V2);
  await here.audit.until('the Event', () =>
    here.audit
      .all('Event')
      .find((event) => event['involvedObject'].name === 'refused' && event['reason'] === 'ReloadFail'),
  );
  await here.fence.pass();
  const complaints = here.audit.all('Event').filter((event) => event['involvedObject'].name === 'refused');
  // Half a second after the first try comes the second, then others: they are counted on the one Event.
  expect(complaints).toHaveLength(1);
  expect(here.audit.templates('Deployment', 'refused')).toHaveLength(1);
  await api().patch(
    pathOf('Deployment', here.space, 'refused'),
    [{ op: 'remove', path: '/spec/template/spec/containers/0/env' }],
    'json',
  );
  await here.fence.pass();
  // The new template is somebody else's rollout after the change: its pods have the new data.
  expect(here.audit.templates('Deployment', 'refused').length).toBeLessThanOrEqual(3);
});
