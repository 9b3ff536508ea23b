import { type JsonObject, listIn, objectAt, objectIn } from '../json.ts';
import { RELOADER_CONFIGS } from '../resources.ts';
import type { Field } from '../schema/field.ts';
import { SPEC } from './spec-fields.ts';
import { STATUS } from './status-fields.ts';

/**
 * The fields that the server drops, because the definition installed there does not have them; by the OpenAPI document of
 * the group. Of a field that is dropped as a whole nothing more is said; undefined: the document does not have the kind.
 */
export function prunedFields(openApi: unknown): readonly string[] | undefined {
  const served = Object.values(objectAt(openApi, ['components', 'schemas'])).find(isReloaderConfig);
  if (served === undefined) return undefined;
  return [...missing('spec', SPEC, served), ...missing('status', STATUS, served)];
}

function isReloaderConfig(schema: unknown): boolean {
  const kinds = listIn(objectIn(schema)['x-kubernetes-group-version-kind']).map(objectIn);
  const { group, version, kind } = RELOADER_CONFIGS;
  return kinds.some((each) => each['group'] === group && each['version'] === version && each['kind'] === kind);
}

/** What an object schema does not have of a field, by its last name. */
function missing(path: string, field: Field, parent: unknown): readonly string[] {
  const schema = objectIn(parent);
  if (schema['x-kubernetes-preserve-unknown-fields'] === true || schema['additionalProperties']) return [];
  const served = objectIn(schema['properties'])[path.slice(path.lastIndexOf('.') + 1)];
  return served === undefined ? [path] : missingWithin(path, field, objectIn(served));
}

function missingWithin(path: string, field: Field, served: JsonObject): readonly string[] {
  if (field.type === 'array') return missingWithin(`${path}[]`, field.items, objectIn(served['items']));
  if (field.type !== 'object') return [];
  return Object.entries(field.properties).flatMap(([name, each]) => missing(`${path}.${name}`, each, served));
}
