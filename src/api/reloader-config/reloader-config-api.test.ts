import { describe, expect, test } from 'vitest';
import { withoutNewFields } from '../../../test/support/older-definition.ts';
import { type Field, rowsOf } from '../schema/field.ts';
import { crd } from './crd.ts';
import { prunedFields } from './pruned-fields.ts';
import { SPEC } from './spec-fields.ts';
import { STATUS } from './status-fields.ts';

const ROWS = [...rowsOf('spec', SPEC), ...rowsOf('status', STATUS)];
const KIND = { group: 'reloader.stakater.com', version: 'v1alpha1', kind: 'ReloaderConfig' };

/** As the API server would serve these fields. */
const openApi = (schema: object) => ({
  components: {
    schemas: {
      'com.example.Other': { 'x-kubernetes-group-version-kind': [{ ...KIND, kind: 'Other' }] },
      'com.stakater.reloader.v1alpha1.ReloaderConfig': { ...schema, 'x-kubernetes-group-version-kind': [KIND] },
    },
  },
});

const ours = () => crd().spec.versions[0].schema.openAPIV3Schema;

describe('the fields', () => {
  test('each says something, as a sentence', () => {
    for (const { path, field } of ROWS)
      expect([path, field.description]).toEqual([path, expect.stringMatching(/.\.$/)]);
  });

  test('required ones exist', () => {
    const objects = ROWS.flatMap(({ field }): readonly Field[] => [
      field,
      ...(field.type === 'array' ? [field.items] : []),
    ]);
    for (const field of objects) {
      if (field.type !== 'object') continue;
      for (const name of field.required ?? []) expect(Object.keys(field.properties)).toContain(name);
    }
  });
});

describe('fields that the server drops', () => {
  test('none of our own definition', () => {
    expect(prunedFields(openApi(ours()))).toEqual([]);
  });

  test('of one without our new fields: these, each as a whole', () => {
    const isNew = ROWS.flatMap(({ path, field }) => (field.isNew ? path : []));
    expect(isNew).toContain('status.targetStatus[].restart');
    expect(prunedFields(openApi(withoutNewFields(ours())))).toEqual(isNew);
  });

  test('of one without status: all of it in one word', () => {
    const { spec } = ours().properties;
    expect(prunedFields(openApi({ properties: { spec } }))).toEqual(['status']);
  });

  test('none where anything is kept, none where nothing is known', () => {
    expect(prunedFields(openApi({ 'x-kubernetes-preserve-unknown-fields': true }))).toEqual([]);
    for (const odd of [undefined, null, {}, { components: { schemas: { a: null } } }])
      expect(prunedFields(odd)).toBeUndefined();
  });
});
