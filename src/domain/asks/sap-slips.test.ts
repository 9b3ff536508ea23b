import { expect, test } from 'vitest';
import { type Given, objectOf, rowOf } from '../../../test/conformance/given.ts';
import { CONFIG_HASH, DEFAULT_KEYS, SAP_DISABLING_LABELS, SAP_LISTS } from '../../api/annotations.ts';
import { slipsIn } from './slips.ts';

const [IGNORED] = SAP_DISABLING_LABELS;

function slips(given: Given): readonly string[] {
  const dialect = { keys: DEFAULT_KEYS, compat: given.compat ?? false, sapCompat: given.sapCompat ?? false };
  return slipsIn(rowOf(given.kind ?? 'Deployment'), objectOf(given), dialect).map(
    ({ path, message }) => `${path} ${message}`,
  );
}

test.each<[string, Given, string]>([
  [
    'a key in the singular',
    { metadata: { 'pod-reloader.cs.sap.com/configmap': 'a' } },
    `pod-reloader.cs.sap.com/configmap is not read: did you mean ${SAP_LISTS.ConfigMap}?`,
  ],
  [
    'a key that is like none',
    { metadata: { 'pod-reloader.cs.sap.com/please': 'a' } },
    'pod-reloader.cs.sap.com/please is not read',
  ],
  [
    'a list in the pod template',
    { template: { [SAP_LISTS.Secret]: 'a' } },
    `${SAP_LISTS.Secret} has no effect in the pod template: it is read from metadata alone`,
  ],
  [
    'a list on a Job',
    { kind: 'Job', metadata: { [SAP_LISTS.Secret]: 'a' } },
    `${SAP_LISTS.Secret} has no effect on a Job`,
  ],
  [
    'a list on a kind that SAP does not know',
    { kind: 'CronJob', metadata: { [SAP_LISTS.Secret]: 'a' }, sapCompat: true },
    `${SAP_LISTS.Secret} has no effect on a CronJob under --compat=sap`,
  ],
  [
    'a label that is an annotation',
    { metadata: { [IGNORED]: 'true' } },
    `${IGNORED} is an annotation here, and only the label is read`,
  ],
  [
    'an annotation that is a label',
    { labels: { [SAP_LISTS.ConfigMap]: 'a' } },
    `${SAP_LISTS.ConfigMap} is a label here, and only annotations are read`,
  ],
  [
    'a label in other letters',
    { labels: { [IGNORED]: 'True' } },
    `${IGNORED} only the exact text "true" counts, not "True"`,
  ],
  [
    'an expression',
    { metadata: { [SAP_LISTS.ConfigMap]: 'app-.*' } },
    `${SAP_LISTS.ConfigMap} "app-.*" is never found: no ConfigMap can have that name, and names are taken letter by letter`,
  ],
  [
    'a blank, as SAP',
    { metadata: { [SAP_LISTS.Secret]: 'a, b' }, sapCompat: true },
    `${SAP_LISTS.Secret} " b" is never found: under --compat=sap the blank is part of the name`,
  ],
  [
    'a comma at the end, as SAP',
    { metadata: { [SAP_LISTS.Secret]: 'a,' }, sapCompat: true },
    `${SAP_LISTS.Secret} an empty name is never found: under --compat=sap every comma counts`,
  ],
])('%s', (_, given, said) => {
  expect(slips(given)).toEqual([said]);
  // Whoever is as silent as Stakater is so about Stakater's keys.
  expect(slips({ ...given, compat: true })).toEqual([said]);
});

test.each<Given>([
  { metadata: { [SAP_LISTS.ConfigMap]: ' a , b,', [CONFIG_HASH]: 'token' }, template: { [CONFIG_HASH]: 'hash' } },
  { labels: { [IGNORED]: 'true' } },
  { labels: { [IGNORED]: 'false' } },
])('what is right is no slip: %j', (given) => expect(slips(given)).toEqual([]));

test('a few of many names are enough', () => {
  const names = Array.from({ length: 1000 }, (_, n) => `A${n}`).join(',');
  const said = slips({ metadata: { [SAP_LISTS.ConfigMap]: names } });
  expect(said).toHaveLength(6);
  expect(said.at(-1)).toBe(`${SAP_LISTS.ConfigMap} 995 more are never found`);
});
