import { describe, expect, test } from 'vitest';
import { type Given, policyOf, workloadOf } from '../../../test/conformance/given.ts';
import { DEFAULT_KEYS, SAP_DISABLING_LABELS, SAP_LISTS } from '../../api/annotations.ts';
import { type KindName, WORKLOAD_KINDS } from '../../api/kinds.ts';
import type { SourceKind } from '../../api/sources.ts';
import { judge } from '../judge/judge.ts';
import { namedIn } from './ask.ts';
import { listsWith } from './sap-annotations.ts';

const [IGNORED, DISABLED] = SAP_DISABLING_LABELS;

const askedFor = (given: Given, name: string, kind: SourceKind = 'ConfigMap') =>
  judge(
    workloadOf(given),
    { ref: { kind, name }, ignored: false, matchable: false },
    policyOf({ sapCompat: given.sapCompat ?? false }),
  );
const namesIn = (given: Given): readonly string[] =>
  namedIn(workloadOf(given).intent.asks).map(({ kind, pattern }) => `${kind} ${pattern.text}`);

test('names are names, whatever they would be as expressions', () => {
  const given = { metadata: { [SAP_LISTS.ConfigMap]: 'app.cfg,web', [SAP_LISTS.Secret]: 'db' } };
  expect(namesIn(given)).toEqual(['ConfigMap app.cfg', 'ConfigMap web', 'Secret db']);
  expect(askedFor(given, 'app.cfg')).toMatchObject({ reload: true, because: 'named', strategy: 'config-hash' });
  expect(askedFor(given, 'app-cfg')).toMatchObject({ reload: false, because: 'not-asked' });
  expect(askedFor(given, 'db', 'Secret').reload).toBe(true);
  expect(askedFor(given, 'db').reload).toBe(false);
});

test('to be created and to be deleted counts', () => {
  const verdict = askedFor({ metadata: { [SAP_LISTS.ConfigMap]: 'app' } }, 'app');
  expect(verdict.reload && verdict.ask.overrides).toEqual({
    strategy: 'config-hash',
    reloadOnCreate: true,
    reloadOnDelete: true,
  });
});

test('blanks and empty names go; as SAP they are part of names that nothing has', () => {
  const metadata = { [SAP_LISTS.ConfigMap]: 'a, b,' };
  expect(namesIn({ metadata })).toEqual(['ConfigMap a', 'ConfigMap b']);
  expect(namesIn({ metadata, sapCompat: true })).toEqual(['ConfigMap a']);
});

test('what can be no name is not looked for', () => {
  const metadata = { [SAP_LISTS.ConfigMap]: 'other/app,App,app-*,-a,a-' };
  expect(namesIn({ metadata })).toEqual([]);
});

test('the pod template is not read', () => {
  expect(namesIn({ template: { [SAP_LISTS.ConfigMap]: 'app' } })).toEqual([]);
});

test.each(WORKLOAD_KINDS.map(({ kind }) => kind))('kinds: %s', (kind) => {
  const metadata = { [SAP_LISTS.ConfigMap]: 'app' };
  const saps: readonly KindName[] = ['Deployment', 'StatefulSet', 'DaemonSet'];
  expect(askedFor({ kind, metadata }, 'app').reload).toBe(kind !== 'Job');
  expect(askedFor({ kind, metadata, sapCompat: true }, 'app').reload).toBe(saps.includes(kind));
});

describe('labels', () => {
  const metadata = { [SAP_LISTS.ConfigMap]: 'app' };

  test.each([IGNORED, DISABLED])('%s switches them off, and only with the text "true"', (label) => {
    const verdict = askedFor({ metadata, labels: { [label]: 'true' } }, 'app');
    expect(verdict).toMatchObject({ reload: false, because: 'disabled-by-label' });
    expect(verdict.rule).toBe(`label ${label}: "true" switches ${SAP_LISTS.ConfigMap}: "app" in metadata off`);
    expect(!verdict.reload && verdict.cures).toEqual([`remove label ${label} from Deployment web`]);
    expect(askedFor({ metadata, labels: { [label]: 'false' } }, 'app').reload).toBe(true);
  });

  test('both are two lines', () => {
    const verdict = askedFor({ metadata, labels: { [IGNORED]: 'true', [DISABLED]: 'true' } }, 'app');
    expect(!verdict.reload && verdict.cures).toHaveLength(2);
  });

  test('what Stakater asks for stays', () => {
    const both = { ...metadata, [DEFAULT_KEYS.named.ConfigMap]: 'app' };
    const verdict = askedFor({ metadata: both, labels: { [IGNORED]: 'true' } }, 'app');
    expect(verdict).toMatchObject({ reload: true, strategy: 'env-vars' });
  });
});

test('where both ask, Stakater comes first; what is listed is known all the same', () => {
  const metadata = { [SAP_LISTS.ConfigMap]: 'app,b', [DEFAULT_KEYS.named.ConfigMap]: 'app' };
  expect(askedFor({ metadata }, 'app')).toMatchObject({ strategy: 'env-vars' });
  const { intent } = workloadOf({ metadata });
  const ref = { kind: 'ConfigMap', namespace: 'shop' } as const;
  expect(listsWith(intent, { ...ref, name: 'app' })).toEqual({ ConfigMap: ['app', 'b'], Secret: [] });
  expect(listsWith(intent, { ...ref, name: 'c' })).toBeUndefined();
  const off = workloadOf({ metadata, labels: { [IGNORED]: 'true' } }).intent;
  expect(listsWith(off, { ...ref, name: 'app' })).toBeUndefined();
});

test("what forbids a reload in Stakater's words, SAP's program knows nothing of", () => {
  const metadata = { [SAP_LISTS.ConfigMap]: 'app', [DEFAULT_KEYS.auto]: 'false' };
  expect(askedFor({ metadata }, 'app')).toMatchObject({ because: 'auto-false' });
  expect(askedFor({ metadata, sapCompat: true }, 'app')).toMatchObject({ reload: true });
});

test('a no says which list does not have the name, and that it could', () => {
  const verdict = askedFor({ metadata: { [SAP_LISTS.ConfigMap]: 'app' } }, 'other');
  expect(verdict.rule).toBe(`${SAP_LISTS.ConfigMap}: "app" in metadata does not name it`);
  expect(!verdict.reload && verdict.cures).toEqual([
    `set ${SAP_LISTS.ConfigMap}: "app,other" in metadata of Deployment web`,
  ]);
});
