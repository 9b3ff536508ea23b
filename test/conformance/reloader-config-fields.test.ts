import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../src/api/objects.ts';
import { crd } from '../../src/api/reloader-config/crd.ts';
import { SPEC } from '../../src/api/reloader-config/spec-fields.ts';
import { STATUS } from '../../src/api/reloader-config/status-fields.ts';
import { rowsOf } from '../../src/api/schema/field.ts';
import { schemaProblems } from '../../src/cli/config/schema-problems.ts';
import { parseReloaderConfig } from '../../src/domain/reloader-config/parse-config.ts';
import { acceptedSpecs } from '../support/random-configs.ts';

/** The fields of the operator that Attune replaces, with their types; `!`: required. */
const SPEC_FIELDS: Readonly<Record<string, string>> = {
  'spec.watchedResources': 'object',
  'spec.watchedResources.secrets': 'string[]',
  'spec.watchedResources.configMaps': 'string[]',
  'spec.watchedResources.enableTargetedReload': 'boolean',
  'spec.watchedResources.namespaceSelector': 'selector',
  'spec.watchedResources.resourceSelector': 'selector',
  'spec.targets': 'object[]',
  'spec.targets[].kind': 'string!',
  'spec.targets[].name': 'string!',
  'spec.targets[].namespace': 'string',
  'spec.targets[].rolloutStrategy': 'string',
  'spec.targets[].reloadStrategy': 'string',
  'spec.targets[].pausePeriod': 'string',
  'spec.targets[].requireReference': 'boolean',
  'spec.rolloutStrategy': 'string',
  'spec.reloadStrategy': 'string',
  'spec.autoReloadAll': 'boolean',
  'spec.ignoreResources': 'object[]',
  'spec.ignoreResources[].kind': 'string!',
  'spec.ignoreResources[].name': 'string!',
  'spec.ignoreResources[].namespace': 'string',
  'spec.matchLabels': 'string{}',
};

const STATUS_FIELDS: Readonly<Record<string, string>> = {
  'status.conditions': 'object[]',
  'status.conditions[].type': 'string!',
  'status.conditions[].status': 'string!',
  'status.conditions[].observedGeneration': 'integer',
  'status.conditions[].lastTransitionTime': 'date-time!',
  'status.conditions[].reason': 'string!',
  'status.conditions[].message': 'string!',
  'status.lastReloadTime': 'date-time',
  'status.watchedResourceHashes': 'string{}',
  'status.reloadCount': 'integer',
  'status.observedGeneration': 'integer',
  'status.targetStatus': 'object[]',
  'status.targetStatus[].kind': 'string!',
  'status.targetStatus[].name': 'string!',
  'status.targetStatus[].namespace': 'string!',
  'status.targetStatus[].lastReloadTime': 'date-time',
  'status.targetStatus[].reloadCount': 'integer',
  'status.targetStatus[].pausedUntil': 'date-time',
  'status.targetStatus[].lastError': 'string',
};

interface Schema {
  readonly type: string;
  readonly format?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema;
  readonly required?: readonly string[];
}

const definition = crd();
const [version] = definition.spec.versions;
const root = version.schema.openAPIV3Schema as unknown as Schema;

/** Every field of the definition with its type; a selector counts as one. */
function typesIn(schema: Schema, path: string): Readonly<Record<string, string>> {
  const types: Record<string, string> = {};
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    const here = `${path}.${name}`;
    types[here] = `${typeOf(field)}${schema.required?.includes(name) ? '!' : ''}`;
    if (types[here] === 'selector') continue;
    Object.assign(types, typesIn(field.items ?? field, field.items ? `${here}[]` : here));
  }
  return types;
}

function typeOf(schema: Schema): string {
  if (schema.items) return `${schema.items.type}[]`;
  if (schema.additionalProperties) return `${schema.additionalProperties.type}{}`;
  if (schema.properties?.['matchExpressions']) return 'selector';
  return schema.format === 'date-time' ? 'date-time' : schema.type;
}

const typesOf = (part: 'spec' | 'status') => typesIn(root.properties?.[part] ?? { type: 'none' }, part);
const newFields = [...rowsOf('spec', SPEC), ...rowsOf('status', STATUS)].flatMap(({ path, field }) =>
  field.isNew ? path : [],
);
const isNew = (path: string) => newFields.some((each) => path === each || path.startsWith(`${each}.`));
const old = (types: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(types).filter(([path]) => !isNew(path)));

describe('the definition', () => {
  test('has every field of the old one with its type, and the others are marked as new', () => {
    expect(old(typesOf('spec'))).toEqual(SPEC_FIELDS);
    expect(old(typesOf('status'))).toEqual(STATUS_FIELDS);
    expect(newFields.filter((path) => path.startsWith('spec'))).toEqual([
      'spec.alerts',
      'spec.reloadOnCreate',
      'spec.reloadOnDelete',
    ]);
  });

  test('can refuse nothing but another type, and sets nothing', () => {
    const keywords = new Set(JSON.stringify(root).match(/"(?:[a-z]\w*|x-[\w-]+)":/g));
    for (const keyword of [
      'enum',
      'pattern',
      'default',
      'minLength',
      'maxLength',
      'minItems',
      'maxItems',
      'nullable',
    ]) {
      expect(keywords).not.toContain(`"${keyword}":`);
    }
    expect(keywords).not.toContain('"x-kubernetes-validations":');
  });

  test('is found under the same names, but for the one that means ReplicationController', () => {
    const { group, scope, names } = definition.spec;
    expect([group, version.name, scope]).toEqual(['reloader.stakater.com', 'v1alpha1', 'Namespaced']);
    expect(names).toMatchObject({ plural: 'reloaderconfigs', singular: 'reloaderconfig', shortNames: ['rlc'] });
    expect(version).toMatchObject({ served: true, storage: true, subresources: { status: {} } });
    expect(root.required).toEqual(['spec']);
  });
});

test('whatever the old definition accepts is read, and no type of it is wrong', () => {
  fc.assert(
    fc.property(acceptedSpecs, (spec) => {
      const object = { apiVersion: 'reloader.stakater.com/v1alpha1', kind: 'ReloaderConfig', spec };
      expect(schemaProblems(object)).toEqual([]);
      parseReloaderConfig({ ...object, metadata: { name: 'a', namespace: 'b' } } as unknown as KubeObject, 'ignore');
    }),
    { numRuns: 500 },
  );
});
