import { type JsonObject, objectIn } from '../../src/api/json.ts';
import { crd } from '../../src/api/reloader-config/crd.ts';
import { SPEC } from '../../src/api/reloader-config/spec-fields.ts';
import { STATUS } from '../../src/api/reloader-config/status-fields.ts';
import { rowsOf } from '../../src/api/schema/field.ts';

const ROWS = [...rowsOf('spec', SPEC), ...rowsOf('status', STATUS)];
const NEW = new Set(ROWS.flatMap(({ path, field }) => (field.isNew ? path : [])));

/** The schema as it is where Attune has added nothing to it. */
export function withoutNewFields(schema: JsonObject, path = ''): JsonObject {
  const kept = Object.entries(objectIn(schema['properties'])).flatMap(([name, each]) => {
    const here = path === '' ? name : `${path}.${name}`;
    return NEW.has(here) ? [] : [[name, withoutNewFields(objectIn(each), here)] as const];
  });
  return {
    ...schema,
    ...('properties' in schema && { properties: Object.fromEntries(kept) }),
    ...('items' in schema && { items: withoutNewFields(objectIn(schema['items']), `${path}[]`) }),
  };
}

/** A definition of ReloaderConfig that is older than Attune. */
export function olderDefinition() {
  const { spec, ...rest } = crd();
  const [{ schema, ...version }] = spec.versions;
  const openAPIV3Schema = withoutNewFields(schema.openAPIV3Schema);
  return { ...rest, spec: { ...spec, versions: [{ ...version, schema: { openAPIV3Schema } }] } };
}
