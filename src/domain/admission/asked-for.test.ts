import { describe, expect, test } from 'vitest';
import { rulesOf } from '../../../test/conformance/admission-given.ts';
import { type Given, objectOf, rowOf } from '../../../test/conformance/given.ts';
import { DEFAULT_KEYS, ON_CHANGE, SAP_LISTS } from '../../api/annotations.ts';
import { objectAt } from '../../api/json.ts';
import { expressionCosts } from '../asks/expression.ts';
import { isAskedFor } from './asked-for.ts';
import type { AdmissionRules } from './request.ts';

const AUTO = { [DEFAULT_KEYS.auto]: 'true' };
const OFF = { [DEFAULT_KEYS.auto]: 'false' };
const NAMED = { [DEFAULT_KEYS.named.ConfigMap]: 'a,b' };
const LISTS = { [SAP_LISTS.Secret]: 'db' };

function asked(given: Given, rules: Partial<AdmissionRules> = {}, old: Given = { metadata: AUTO }): boolean {
  const kind = given.kind ?? 'Deployment';
  return isAskedFor(rowOf(kind), objectOf({ kind, ...old }), objectOf(given), rulesOf(rules));
}

describe('marks serve somebody', () => {
  test.each<[string, Given, Partial<AdmissionRules>]>([
    ['auto', { metadata: AUTO }, {}],
    ['auto on the template', { template: AUTO }, {}],
    ['a name', { metadata: NAMED }, {}],
    ['one of two names', { metadata: { ...NAMED, [DEFAULT_KEYS.exclude.ConfigMap]: 'a' } }, {}],
    ['a pattern that does not compile', { metadata: { [DEFAULT_KEYS.named.Secret]: 'a(' } }, {}],
    ['search', { metadata: { [DEFAULT_KEYS.search]: 'true' } }, {}],
    ['the flag', {}, { autoReloadAll: true }],
    ["SAP's lists", { metadata: LISTS }, {}],
    ['auto: false ends only what auto asks for, under compat', { metadata: { ...NAMED, ...OFF } }, { compat: true }],
  ])('%s', (_, given, rules) => expect(asked(given, rules)).toBe(true));

  test.each<[string, Given, Partial<AdmissionRules>]>([
    ['nothing is asked for', {}, {}],
    ['nothing but another annotation', { metadata: { a: 'true' } }, {}],
    ['auto: false', { metadata: { ...NAMED, ...OFF } }, {}],
    ["auto: false, whatever SAP's lists", { metadata: { ...LISTS, ...OFF } }, {}],
    ['auto: false, whatever the flag', { metadata: OFF }, { autoReloadAll: true }],
    ['every name is excluded', { metadata: { ...NAMED, [DEFAULT_KEYS.exclude.ConfigMap]: 'a, b' } }, {}],
    ['a CronJob that is to be left alone', { kind: 'CronJob', metadata: { ...AUTO, [ON_CHANGE]: 'ignore' } }, {}],
    ["SAP's lists on a kind of which SAP knows nothing", { kind: 'CronJob', metadata: LISTS }, { sapCompat: true }],
    ['opt-out under compat', {}, { compat: true }],
  ])('not: %s', (_, given, rules) => expect(asked(given, rules)).toBe(false));

  test("not: SAP's lists where a label says no", () => {
    const { metadata, ...object } = objectOf({ metadata: LISTS });
    const labels = { 'pod-reloader.cs.sap.com/ignored': 'true' };
    const labelled = { ...object, metadata: { ...metadata, labels } };
    expect(isAskedFor(rowOf('Deployment'), {}, labelled, rulesOf())).toBe(false);
    expect(isAskedFor(rowOf('Deployment'), {}, labelled, rulesOf({ sapCompat: true }))).toBe(false);
  });

  test('under compat, where no ask of its own brought them: somebody else asks', () => {
    expect(asked({}, { compat: true }, {})).toBe(true);
    expect(asked({}, { compat: false }, {})).toBe(false);
  });

  test('an expression is not compiled: that a list has one is enough', () => {
    const { compiled, matched } = expressionCosts();
    const lists = Object.values(DEFAULT_KEYS.named).map((key) => [key, `[a]{1000},.*-${key}`] as const);
    for (const compat of [false, true]) expect(asked({ metadata: Object.fromEntries(lists) }, { compat })).toBe(true);
    expect(expressionCosts()).toMatchObject({ compiled, matched });
  });

  test('annotations that are no texts ask for nothing', () => {
    const odd = { ...objectOf({}), metadata: { annotations: { [DEFAULT_KEYS.auto]: true, x: null } } };
    expect(isAskedFor(rowOf('Deployment'), {}, odd, rulesOf())).toBe(false);
    expect(objectAt(odd, ['metadata', 'annotations'])['x']).toBeNull();
  });
});
