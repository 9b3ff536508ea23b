import { expect, it } from 'vitest';
import { registrationManifest } from '../../../src/admission/registration/manifest.ts';
import { parseSettings } from '../../../src/config/parse-settings.ts';
import { containerOf, only, render, type Values } from './helm.ts';

/** The values under test, with admission switched on. */
const admission = (reloader: Values = {}, attune: Values = {}, own: Values = {}): Values => ({
  reloader,
  attune: { ...attune, admission: { enabled: true, ...own } },
});

const SELECTOR = 'tier in (web, api),team,!legacy,a=b,c==d,e!=f,g notin (h),i:j,k:*,l=*';

it.each<[string, Values]>([
  ['all namespaces', admission()],
  ['some left out', admission({ ignoreNamespaces: 'blog, kube-system,,shop' })],
  ['some selected', admission({ namespaceSelector: SELECTOR, ignoreNamespaces: 'blog' })],
  ['its own', admission({ watchGlobally: false })],
  ['several', admission({ watchGlobally: false, namespaces: ['b', 'a'] })],
  ['all kinds', admission({ isArgoRollouts: true, isOpenshift: true })],
  ['without CronJobs', admission({ ignoreCronJobs: true, ignoreJobs: true })],
  ['only SAP’s annotations', admission({}, {}, { marks: false, failurePolicy: 'Fail' })],
  ['as Stakater', admission({}, { compat: 'stakater' })],
  ['as both', admission({ isArgoRollouts: true }, { compat: 'sap,stakater' })],
  ['by another name', admission({ deployment: { env: { open: { ATTUNE_ADMISSION_NAME: 'ours' } } } })],
])('%s: the chart registers what the program would', async (_, values) => {
  const manifests = await render(values);
  const { args, env } = containerOf(manifests);
  const variables = (env as readonly { name: string; value?: string }[]).map(
    (each) => [each.name, each.value ?? 'tools'] as const,
  );
  const parsed = parseSettings(args, Object.fromEntries(variables));
  if (!parsed.ok) throw new Error(parsed.problems.join());
  const { name, marks } = parsed.settings.admissionServer;
  const made = registrationManifest({ name, namespace: 'tools', url: '' }, { ...parsed.settings, marks });
  const { metadata, webhooks } = only(manifests, 'MutatingWebhookConfiguration');
  expect(metadata.name).toBe(name);
  expect(webhooks).toEqual(made['webhooks']);
});
