import { type JsonObject, objectIn } from '../../api/json.ts';
import { SPEC } from '../../api/reloader-config/spec-fields.ts';
import { STATUS } from '../../api/reloader-config/status-fields.ts';
import type { Field } from '../../api/schema/field.ts';
import { nearest } from '../../config/nearest.ts';
import type { ConfigProblem } from '../../domain/reloader-config/config.ts';
import { shown } from '../../domain/reloader-config/fields.ts';
import { requirementProblem } from '../../domain/text/selector.ts';

const TOP = ['apiVersion', 'kind', 'metadata', 'spec', 'status'];
const METADATA = [
  ...['name', 'generateName', 'namespace', 'labels', 'annotations', 'finalizers', 'ownerReferences'],
  ...['uid', 'resourceVersion', 'generation', 'creationTimestamp', 'deletionTimestamp', 'deletionGracePeriodSeconds'],
  ...['managedFields', 'selfLink'],
];
const TEXTS: Field = { type: 'map', description: '', values: { type: 'string', description: '' } };

/** What the API server would refuse or drop: fields that do not exist, values of another type, what is missing. */
export function schemaProblems(object: JsonObject): readonly ConfigProblem[] {
  const { spec, status } = object as { readonly spec?: unknown; readonly status?: unknown };
  return [
    ...unknownFields(object, '', TOP),
    ...metadataProblems(objectIn(object['metadata'])),
    ...(isAbsent(spec) ? [{ path: 'spec', message: 'is missing' }] : fieldProblems(spec, 'spec', SPEC)),
    ...(isAbsent(status) ? [] : fieldProblems(status, 'status', STATUS)),
  ];
}

function metadataProblems(metadata: JsonObject): readonly ConfigProblem[] {
  const texts = (['labels', 'annotations'] as const).flatMap((name) =>
    isAbsent(metadata[name]) ? [] : fieldProblems(metadata[name], `metadata.${name}`, TEXTS),
  );
  const labels = Object.entries(objectIn(metadata['labels'])).flatMap(([key, value]) => {
    const message =
      typeof value === 'string' ? requirementProblem({ key, operator: 'in', values: [value] }) : undefined;
    return message === undefined ? [] : [{ path: 'metadata.labels', message }];
  });
  return [...unknownFields(metadata, 'metadata.', METADATA), ...texts, ...labels];
}

/** The server drops a null before it looks at anything. */
const isAbsent = (value: unknown): boolean => value === undefined || value === null;

function fieldProblems(value: unknown, path: string, field: Field): readonly ConfigProblem[] {
  if (!isOfType(value, field)) {
    const { noun, hint = '' } = TYPES[field.type];
    return [{ path, message: `must be ${noun}, not ${shown(value)}${isScalar(value) ? hint : ''}` }];
  }
  if (field.type === 'array') {
    return (value as readonly unknown[]).flatMap((each, at) => fieldProblems(each, `${path}[${at}]`, field.items));
  }
  if (field.type === 'map') {
    return Object.entries(objectIn(value)).flatMap(([key, each]) =>
      fieldProblems(each, `${path}[${JSON.stringify(key)}]`, field.values),
    );
  }
  if (field.type !== 'object') return [];
  const fields = Object.entries(field.properties);
  const given = objectIn(value);
  return [
    ...unknownFields(given, `${path}.`, Object.keys(field.properties)),
    ...(field.required ?? []).flatMap((name) =>
      isAbsent(given[name]) ? [{ path: `${path}.${name}`, message: 'is missing' }] : [],
    ),
    ...fields.flatMap(([name, each]) =>
      isAbsent(given[name]) ? [] : fieldProblems(given[name], `${path}.${name}`, each),
    ),
  ];
}

function unknownFields(given: JsonObject, before: string, known: readonly string[]): readonly ConfigProblem[] {
  return Object.keys(given).flatMap((name) => {
    if (known.includes(name)) return [];
    const guess = nearest(name, known);
    const hint = guess === undefined ? `; there are ${known.join(', ')}` : `, did you mean ${guess}?`;
    return [{ path: `${before}${name}`, message: `is no field${hint}` }];
  });
}

const QUOTES = ': put it in quotes';
const TYPES: Readonly<Record<Field['type'], { readonly noun: string; readonly hint?: string }>> = {
  string: { noun: 'a text', hint: QUOTES },
  integer: { noun: 'a whole number' },
  boolean: { noun: 'true or false' },
  quantity: { noun: 'an amount like 100Mi' },
  array: { noun: 'a list' },
  map: { noun: 'a map' },
  object: { noun: 'an object' },
};

function isOfType(value: unknown, { type }: Field): boolean {
  if (type === 'array') return Array.isArray(value);
  if (type === 'object' || type === 'map') return objectIn(value) === value;
  if (type === 'quantity') return typeof value === 'string' || Number.isSafeInteger(value);
  return type === 'integer' ? Number.isSafeInteger(value) : typeof value === type;
}

const isScalar = (value: unknown): boolean => typeof value !== 'object' || value === null;
