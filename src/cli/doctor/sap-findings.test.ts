import { describe, expect, it } from 'vitest';
import { settings } from '../../../test/support/settings.ts';
import { kindNamed } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/objects.ts';
import { diagnoseSap, type SapBasis } from './sap-findings.ts';
import { type SapRegistration, sapPrograms, sapRegistrations } from './sap-installation.ts';

const SECRETS = 'pod-reloader.cs.sap.com/secrets';
const CONFIG_MAPS = 'pod-reloader.cs.sap.com/configmaps';
const TOKEN = 'pod-reloader.cs.sap.com/config-hash';
const DISABLED = 'pod-reloader.cs.sap.com/disabled';

type Words = Readonly<Record<string, string>>;

const registration = (selectors: Partial<SapRegistration> = {}): SapRegistration => ({
  name: 'pod-reloader',
  failurePolicy: 'Fail',
  objectSelector: `${DISABLED} notin (true)`,
  namespaceSelector: '',
  hasConditions: false,
  ...selectors,
});

function look(annotations: Words, labels: Words = {}, basis: Partial<SapBasis> = {}, kindName = 'Deployment') {
  const kind = kindNamed(kindName);
  if (!kind) throw new Error(kindName);
  const metadata = { name: 'web', namespace: 'shop', uid: 'u', resourceVersion: '1', annotations, labels };
  const labelsOf = () => ({ 'kubernetes.io/metadata.name': 'shop' });
  return diagnoseSap(
    kind,
    { metadata },
    { settings: settings([]), registrations: [registration()], labelsOf, ...basis },
  );
}

describe('a workload', () => {
  it('without anything of SAP’s is none of its workloads', () => {
    expect(look({ 'reloader.stakater.com/auto': 'true' })).toBeUndefined();
    expect(look({ [SECRETS]: '' })).toBeUndefined();
  });

  it('with plain lists is treated as before', () => {
    expect(look({ [SECRETS]: 'db,tls', [CONFIG_MAPS]: 'app,app' })).toEqual({
      workload: { kind: 'Deployment', namespace: 'shop', name: 'web' },
      sources: 3,
      differences: [],
      remarks: [],
      before: [],
    });
  });

  it('with a blank in its list begins to roll, but not under compat', () => {
    const annotations = { [SECRETS]: 'db, tls', [CONFIG_MAPS]: 'app,' };
    expect(look(annotations)).toMatchObject({
      sources: 3,
      differences: [expect.stringContaining('Secret tls is listed with a blank')],
      remarks: [expect.stringContaining('an empty name is listed')],
    });
    expect(look(annotations, {}, { settings: settings(['--compat=sap']) })?.differences).toEqual([]);
  });

  it('with nothing but empty names has no list', () => {
    expect(look({ [SECRETS]: ' , ' })).toMatchObject({ sources: 0, differences: [], remarks: [expect.anything()] });
  });

  it('with a token that was left has to lose it first', () => {
    expect(look({ [SECRETS]: 'db', [TOKEN]: '' })).toMatchObject({
      differences: [expect.stringContaining('refuses every write')],
      before: [`kubectl -n shop annotate deployments/web ${TOKEN}-`],
    });
    expect(look({ [TOKEN]: 'x' })).toMatchObject({ sources: 0, differences: [], before: [expect.anything()] });
  });

  it('that says no by its label is rolled by neither', () => {
    const found = look({ [SECRETS]: 'db, tls', [TOKEN]: 'x' }, { [DISABLED]: 'true' });
    expect(found).toMatchObject({ differences: [], remarks: [expect.stringContaining(DISABLED)] });
    expect(found?.before).toHaveLength(1);
    expect(look({ [SECRETS]: 'db' }, { [DISABLED]: 'yes' })?.remarks).toEqual([]);
  });

  it.each<[string, Partial<SapRegistration>]>([
    ['leaves out namespace shop', { namespaceSelector: 'kubernetes.io/metadata.name notin (shop)' }],
    ['leaves out objects with such labels', { objectSelector: 'reload' }],
  ])('that SAP’s registration %s begins to roll', (why, selectors) => {
    expect(look({ [SECRETS]: 'db' }, {}, { registrations: [registration(selectors)] })).toMatchObject({
      differences: [expect.stringContaining(why)],
      remarks: [`to leave it alone, label it ${DISABLED}: "true"`],
    });
    const both = [registration(selectors), registration()];
    expect(look({ [SECRETS]: 'db' }, {}, { registrations: both })?.differences).toEqual([]);
  });

  it('in a namespace whose labels nobody may read is taken as selected', () => {
    const registrations = [registration({ namespaceSelector: 'team=a' })];
    const found = look({ [SECRETS]: 'db' }, {}, { registrations, labelsOf: () => undefined });
    expect(found?.differences).toEqual([]);
  });

  it('of a kind that SAP’s program does not know begins to roll', () => {
    const [difference] = look({ [SECRETS]: 'db' }, {}, {}, 'CronJob')?.differences ?? [];
    expect(difference).toContain('does not know the kind');
    const compat = { settings: settings(['--compat=sap']) };
    expect(look({ [SECRETS]: 'db' }, {}, compat, 'CronJob')).toMatchObject({
      differences: [],
      remarks: [expect.stringContaining('neither')],
    });
  });

  it('that Attune does not watch ends to roll, unless it never did', () => {
    const elsewhere = settings(['--namespaces-to-ignore=shop']);
    const annotations = { [SECRETS]: 'db', [TOKEN]: 'x' };
    expect(look(annotations, {}, { settings: elsewhere })?.differences).toEqual([
      expect.stringMatching(/Attune does not: --namespaces-to-ignore/),
    ]);
    const registrations = [registration({ namespaceSelector: 'team=a' })];
    expect(look(annotations, {}, { settings: elsewhere, registrations })?.differences).toEqual([]);
  });
});

describe('SAP’s program', () => {
  const named = (name: string, rest: object) =>
    ({ metadata: { name, namespace: 'tools', uid: name, resourceVersion: '1' }, ...rest }) as KubeObject;

  it('is known by its image', () => {
    const deployment = (name: string, image: string, replicas?: number) =>
      named(name, { spec: { replicas, template: { spec: { containers: [{ image }] } } } });
    const deployments = [
      deployment('a', 'ghcr.io/sap/pod-reloader:v0.1.98'),
      deployment('b', 'mirror.local/pod-reloader@sha256:0', 0),
      deployment('c', 'mirror.local/pod-reloader-ui:1'),
    ];
    expect(sapPrograms(deployments).map(({ name, replicas }) => [name, replicas])).toEqual([
      ['a', 1],
      ['b', 0],
    ]);
  });

  it('is registered by the name of its webhook, with selectors of every form', () => {
    const matchExpressions = [
      { key: 'a', operator: 'In', values: ['x', 'y'] },
      { key: 'b', operator: 'NotIn', values: ['z'] },
      { key: 'c', operator: 'Exists' },
      { key: 'd', operator: 'DoesNotExist' },
    ];
    const webhook = {
      name: 'mutate.apps.k8s.io',
      failurePolicy: 'Fail',
      objectSelector: { matchLabels: { team: 'a' }, matchExpressions },
      matchConditions: [{ name: 'x' }],
    };
    const other = { name: 'marks.admission.attune.dev' };
    expect(
      sapRegistrations([named('sap', { webhooks: [webhook, other] }), named('not', { webhooks: [other] })]),
    ).toEqual([
      {
        name: 'sap',
        failurePolicy: 'Fail',
        objectSelector: 'team=a,a in (x,y),b notin (z),c,!d',
        namespaceSelector: '',
        hasConditions: true,
      },
    ]);
  });
});
