import { describe, expect, expectTypeOf, test } from 'vitest';
import { rowsOf, type ValueOf } from './field.ts';
import { schemaOf } from './schema-of.ts';

const description = 'What it is.';
const TABLE = {
  type: 'object',
  description,
  required: ['size'],
  properties: {
    size: { type: 'quantity', description, default: '1Gi' },
    mode: { type: 'string', description, enum: ['on', 'off'], default: 'on' },
    port: { type: 'integer', description, format: 'int32', minimum: 1, maximum: 65535 },
    offset: { type: 'integer', description },
    options: {
      type: 'map',
      description,
      maxProperties: 2,
      values: { type: 'object', description, properties: { at: { type: 'string', description, format: 'date-time' } } },
    },
    affinity: { type: 'object', description, properties: {}, isOpen: true },
    isLive: { type: 'boolean', description, default: false, rules: [{ rule: 'self', message: 'must be true' }] },
  },
} as const;

describe('a table of fields', () => {
  test('gives the schema that the API server checks by', () => {
    expect(schemaOf(TABLE)).toEqual({
      type: 'object',
      description,
      required: ['size'],
      properties: {
        size: {
          anyOf: [{ type: 'integer' }, { type: 'string' }],
          'x-kubernetes-int-or-string': true,
          description,
          default: '1Gi',
        },
        mode: { type: 'string', description, enum: ['on', 'off'], default: 'on' },
        port: { type: 'integer', format: 'int32', description, minimum: 1, maximum: 65535 },
        offset: { type: 'integer', format: 'int64', description },
        options: {
          type: 'object',
          description,
          maxProperties: 2,
          additionalProperties: {
            type: 'object',
            description,
            properties: { at: { type: 'string', format: 'date-time', description } },
          },
        },
        affinity: { type: 'object', description, properties: {}, 'x-kubernetes-preserve-unknown-fields': true },
        isLive: {
          type: 'boolean',
          description,
          default: false,
          'x-kubernetes-validations': [{ rule: 'self', message: 'must be true' }],
        },
      },
    });
  });

  test('gives the type of what it describes', () => {
    type Value = ValueOf<typeof TABLE>;
    expectTypeOf<Value['size']>().toEqualTypeOf<string | number>();
    expectTypeOf<Value['mode']>().toEqualTypeOf<'on' | 'off' | undefined>();
    expectTypeOf<NonNullable<Value['options']>[string]['at']>().toEqualTypeOf<string | undefined>();
  });

  test('gives the path of every field, also within the values of a map', () => {
    expect(rowsOf('spec', TABLE).map(({ path }) => path)).toEqual([
      'spec',
      'spec.size',
      'spec.mode',
      'spec.port',
      'spec.offset',
      'spec.options',
      'spec.options.*.at',
      'spec.affinity',
      'spec.isLive',
    ]);
  });
});
