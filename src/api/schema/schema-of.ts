import type { JsonObject } from '../json.ts';
import type { Field } from './field.ts';

/** The field as a CustomResourceDefinition has it. */
export function schemaOf(field: Field): JsonObject {
  const { description, rules } = field;
  return { ...typeOf(field), description, ...contentOf(field), ...(rules && { 'x-kubernetes-validations': rules }) };
}

function typeOf(field: Field): JsonObject {
  switch (field.type) {
    case 'string':
      return { type: 'string', ...(field.format && { format: field.format }) };
    case 'integer':
      return { type: 'integer', format: field.format ?? 'int64' };
    case 'quantity':
      return { anyOf: [{ type: 'integer' }, { type: 'string' }], 'x-kubernetes-int-or-string': true };
    case 'map':
      return { type: 'object' };
    default:
      return { type: field.type };
  }
}

function contentOf(field: Field): JsonObject {
  switch (field.type) {
    case 'string':
      return present({ enum: field.enum, maxLength: field.maxLength, default: field.default });
    case 'integer':
      return present({ minimum: field.minimum, maximum: field.maximum, default: field.default });
    case 'boolean':
    case 'quantity':
      return present({ default: field.default });
    case 'array':
      return {
        items: schemaOf(field.items),
        ...(field.key && { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': [field.key] }),
      };
    case 'map':
      return { ...present({ maxProperties: field.maxProperties }), additionalProperties: schemaOf(field.values) };
    case 'object':
      return {
        ...(field.required && { required: field.required }),
        properties: Object.fromEntries(Object.entries(field.properties).map(([name, each]) => [name, schemaOf(each)])),
        ...(field.isAtomic && { 'x-kubernetes-map-type': 'atomic' }),
        ...(field.isOpen && { 'x-kubernetes-preserve-unknown-fields': true }),
      };
  }
}

const present = (members: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
