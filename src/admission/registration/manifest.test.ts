import { describe, expect, it } from 'vitest';
import { settings } from '../../../test/support/settings.ts';
import type { JsonObject } from '../../api/json.ts';
import { registrationManifest } from './manifest.ts';

const TARGET = { name: 'attune-admission', namespace: 'attune', url: '' };

interface Webhook {
  readonly name: string;
  readonly clientConfig: JsonObject;
  readonly rules: readonly { readonly resources: readonly string[] }[];
  readonly namespaceSelector: { readonly matchExpressions: readonly JsonObject[] };
  readonly matchConditions: readonly [{ readonly expression: string }];
}

function webhooksOf(flags: readonly string[], target = TARGET): readonly Webhook[] {
  const given = settings(flags);
  const { admissionServer, ...rules } = given;
  const manifest = registrationManifest(target, { ...rules, marks: admissionServer.marks });
  return manifest['webhooks'] as readonly Webhook[];
}
const resourcesOf = (flags: readonly string[]) =>
  Object.fromEntries(
    webhooksOf(flags).map(({ name, rules }) => [name.split('.')[0], rules.flatMap(({ resources }) => resources)]),
  );
const selectorOf = (...flags: readonly string[]) => webhooksOf(flags)[0]?.namespaceSelector.matchExpressions;

const APPS = ['deployments', 'daemonsets', 'statefulsets'];
const NAME = 'kubernetes.io/metadata.name';
const EXCEPT = { key: NAME, operator: 'NotIn', values: ['kube-system'] };

describe('the registration', () => {
  it('says everything but whom to trust, and lets writes pass', () => {
    const { rules, matchConditions, ...rest } = webhooksOf([])[0] as Webhook;
    expect(rest).toEqual({
      name: 'workloads.admission.attune.dev',
      clientConfig: { service: { name: 'attune-admission', namespace: 'attune', path: '/mutate', port: 443 } },
      matchPolicy: 'Equivalent',
      namespaceSelector: { matchExpressions: [EXCEPT] },
      objectSelector: {
        matchExpressions: [{ key: 'attune.dev/admission', operator: 'NotIn', values: ['exempt'] }],
      },
      sideEffects: 'None',
      reinvocationPolicy: 'IfNeeded',
      timeoutSeconds: 3,
      failurePolicy: 'Ignore',
      admissionReviewVersions: ['v1'],
    });
    expect(rules[0]).toEqual({
      apiGroups: ['apps'],
      apiVersions: ['v1'],
      resources: APPS,
      operations: ['CREATE', 'UPDATE'],
      scope: 'Namespaced',
    });
  });

  it.each<[string, readonly string[], object]>([
    ['by default', [], { workloads: [...APPS, 'deploymentconfigs'], cronjobs: ['cronjobs'] }],
    [
      'with Rollouts',
      ['--is-Argo-Rollouts=true'],
      { workloads: [...APPS, 'rollouts', 'deploymentconfigs'], cronjobs: ['cronjobs'] },
    ],
    ['without CronJobs', ['--ignored-workload-types=cronjobs,jobs'], { workloads: [...APPS, 'deploymentconfigs'] }],
    ['as Stakater', ['--compat=stakater'], { workloads: APPS, cronjobs: ['cronjobs'] }],
    ['as SAP', ['--compat=sap'], { workloads: [...APPS, 'deploymentconfigs'], cronjobs: ['cronjobs'] }],
  ])('names the kinds that are watched: %s', (_, flags, resources) => {
    expect(resourcesOf(flags)).toEqual(resources);
  });

  it('names the namespaces that are watched', () => {
    expect(selectorOf('--namespaces=shop,blog')).toEqual([
      EXCEPT,
      { key: NAME, operator: 'In', values: ['shop', 'blog'] },
    ]);
    expect(selectorOf('--namespaces-to-ignore=shop,kube-system')).toEqual([
      { key: NAME, operator: 'NotIn', values: ['kube-system', 'shop'] },
    ]);
    expect(selectorOf('--namespace-selector=a=b,c in (d,e),f!=g,h,!i', '--namespaces-to-ignore=x')).toEqual([
      { key: NAME, operator: 'NotIn', values: ['kube-system', 'x'] },
      { key: 'a', operator: 'In', values: ['b'] },
      { key: 'c', operator: 'In', values: ['d', 'e'] },
      { key: 'f', operator: 'NotIn', values: ['g'] },
      { key: 'h', operator: 'Exists' },
      { key: 'i', operator: 'DoesNotExist' },
    ]);
  });

  it('refuses what it cannot say', () => {
    expect(() => selectorOf('--namespace-selector=level>3')).toThrow(
      'a registration cannot compare numbers, as --namespace-selector=level>3 does: give these namespaces a label',
    );
  });

  it('leads to a URL where one is given', () => {
    const [first] = webhooksOf([], { ...TARGET, url: 'https://127.0.0.1:9443' });
    expect(first?.clientConfig).toEqual({ url: 'https://127.0.0.1:9443/mutate' });
  });

  it('looks for marks only where they are put back, each where its kind has the template', () => {
    const [workloads = '', cronjobs = ''] = webhooksOf([]).map(({ matchConditions }) => matchConditions[0].expression);
    expect(workloads).toContain('oldObject.spec.template.spec.containers.exists(');
    expect(cronjobs).toContain('oldObject.spec.jobTemplate.spec.template.spec.containers.exists(');
    const [without = ''] = webhooksOf(['--admission-marks=false']).map((each) => each.matchConditions[0].expression);
    expect(workloads.startsWith(without)).toBe(true);
    expect(webhooksOf(['--compat=sap'])[0]?.matchConditions[0].expression).not.toBe(workloads);
    expect(without).not.toMatch(/attune\.dev|stakater/i);
  });
});
