import { afterAll, expect, it } from 'vitest';
import { commandLine } from '../../../test/e2e/cli/run.ts';
import { listOf, scriptedApi } from '../../../test/support/scripted-api.ts';

/** What the cluster gives for a path; everything else is forbidden. */
let readable: Readonly<Record<string, readonly object[]>> = {};
const api = await scriptedApi(({ verb, path, json, status }) => {
  const items = readable[path];
  if (items && verb === 'list') json(200, listOf(items, '1'));
  else if (path === '/api/v1/namespaces/nope') status(404, 'NotFound');
  else status(403, 'Forbidden');
});
afterAll(() => api[Symbol.asyncDispose]());
const attune = commandLine({ server: api.connection.server.origin, authority: '', token: 'test' });

const APPS = '/apis/apps/v1';
const REGISTRATIONS = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations';
const LISTS = { 'pod-reloader.cs.sap.com/secrets': 'db, tls' };

const deployment = (namespace: string, name: string, image: string, annotations: object = {}) => ({
  metadata: { namespace, name, uid: name, resourceVersion: '1', annotations },
  spec: { replicas: 2, template: { spec: { containers: [{ name: 'main', image }] } } },
});
const sap = deployment('tools', 'pod-reloader', 'ghcr.io/sap/pod-reloader:v0.1.98');
const registered = (name: string, webhook: string, rest: object = {}) => ({
  metadata: { name, uid: name, resourceVersion: '1' },
  webhooks: [{ name: webhook, failurePolicy: 'Fail', ...rest }],
});

/** A cluster in which everything may be listed. */
const cluster = (
  deployments: readonly object[],
  registrations: readonly object[],
  namespaces: readonly object[] = [],
) => ({
  ...Object.fromEntries(
    [
      ...['daemonsets', 'statefulsets'].map((plural) => `${APPS}/${plural}`),
      ...['jobs', 'cronjobs'].map((plural) => `/apis/batch/v1/${plural}`),
      '/apis/apps.openshift.io/v1/deploymentconfigs',
      '/api/v1/configmaps',
      '/api/v1/secrets',
    ].map((path) => [path, []]),
  ),
  [`${APPS}/deployments`]: deployments,
  [REGISTRATIONS]: registrations,
  '/api/v1/namespaces': namespaces,
});

it('SAP’s program alone: what changes for each workload, and the order of steps', async () => {
  const web = deployment('shop', 'web', 'shop', { ...LISTS, 'pod-reloader.cs.sap.com/config-hash': 'x' });
  readable = cluster([sap, web], [registered('pod-reloader', 'mutate.apps.k8s.io')]);
  const { code, stdout, stderr } = await attune('doctor');
  expect(stderr).toBe('');
  expect(stdout).not.toContain('Stakater');
  expect(stdout).toContain('Deployment tools/pod-reloader, ghcr.io/sap/pod-reloader:v0.1.98');
  expect(stdout).toContain('MutatingWebhookConfiguration pod-reloader, failurePolicy Fail');
  expect(stdout).toMatch(/≠ {2}Deployment shop\/web {2}Secret tls is listed with a blank/);
  expect(stdout).toContain('1 of 1 workloads would be treated differently.');
  const steps = Array.from(stdout.matchAll(/^ {2}\d\. (.*)$/gm), ([, step]) => step);
  expect(steps).toEqual([
    'kubectl delete mutatingwebhookconfiguration pod-reloader',
    'kubectl -n tools scale deployment/pod-reloader --replicas=0',
    'kubectl -n shop annotate deployments/web pod-reloader.cs.sap.com/config-hash-',
    expect.stringContaining('attune.admission.enabled=true'),
  ]);
  expect(code).toBe(1);
});

it('SAP’s program alone, and a namespace that does not exist', async () => {
  readable = cluster([sap], []);
  const { code, stderr } = await attune('doctor', '-n', 'nope');
  expect(stderr).toContain('there is no namespace nope');
  expect(code).toBe(2);
});

it('as JSON, one report for each program', async () => {
  const reloader = deployment('tools', 'reloader', 'stakater/reloader:v1.4.21');
  readable = cluster([sap, reloader], []);
  const { code, stdout } = await attune('doctor', '-o', 'json', '--compat=sap');
  const reports = JSON.parse(stdout) as { program: string; mode: string }[];
  expect(reports.map(({ program, mode }) => [program, mode])).toEqual([
    ['Stakater Reloader', 'default'],
    ['SAP pod-reloader', 'sap'],
  ]);
  expect(code).toBe(0);
});

it('both registered at once is told, whatever the workloads are', async () => {
  const own = deployment('attune', 'attune', 'registry/attune:0.1.0');
  const registrations = [registered('pod-reloader', 'mutate.apps.k8s.io'), registered('a', 'x.admission.attune.dev')];
  readable = cluster([sap, own], registrations);
  const { code, stdout } = await attune('doctor');
  expect(stdout).toContain('! MutatingWebhookConfiguration a is there as well.');
  expect(stdout).toContain('! Deployment attune/attune is there as well.');
  expect(code).toBe(1);
});

it('what cannot be evaluated or read is told, and nothing else is claimed', async () => {
  const rest = { matchConditions: [{ name: 'x' }], namespaceSelector: { matchLabels: { team: 'a' } } };
  const { '/api/v1/namespaces': _, ...readableRest } = cluster([sap], [registered('r', 'mutate.apps.k8s.io', rest)]);
  readable = readableRest;
  const { code, stdout } = await attune('doctor');
  expect(stdout).toContain('! namespaces: this user may not list them');
  expect(stdout).toContain('! matchConditions of MutatingWebhookConfiguration r: only the API server');
  expect(code).toBe(2);
});

it('annotations alone are enough to look for it, and whoever may not see more is told so', async () => {
  const { [REGISTRATIONS]: _, ...rest } = cluster([deployment('shop', 'web', 'shop', LISTS)], []);
  readable = rest;
  const { stdout } = await attune('doctor');
  expect(stdout).toContain('No Stakater Reloader was found');
  expect(stdout).toContain('not found; workloads have its annotations');
  expect(stdout).toContain('! mutatingwebhookconfigurations: this user may not list them');
});
