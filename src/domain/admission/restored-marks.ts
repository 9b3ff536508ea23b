import { LAST_RELOADED_FROM, NUDGE, RECORD } from '../../api/annotations.ts';
import { canonicalText, type JsonObject, listIn, objectAt, objectIn, textIn } from '../../api/json.ts';
import type { WorkloadKind } from '../../api/kinds.ts';
import { isMarkVariable } from '../template/marks.ts';
import {
  type AnnotationEdit,
  annotationIn,
  type EnvListEdit,
  isObject,
  type ObjectEdit,
  takesAnnotations,
} from './object-edit.ts';
import type { Restored } from './request.ts';

export interface Restoration {
  readonly edit: ObjectEdit;
  readonly restored: Restored;
  /** Marks that the writer sent with another value than the stored one, or that the stored object does not have. */
  readonly overruled: readonly string[];
}

/** A mark and where it stands in its container's env. */
interface PlacedMark {
  readonly variable: unknown;
  readonly index: number;
}

/**
 * What gives an object that is being written the marks and the record of the stored one; undefined if that one has none.
 * Containers are known by name: one that is gone takes its marks with it.
 */
export function restoreMarks(kind: WorkloadKind, old: JsonObject, object: JsonObject): Restoration | undefined {
  const oldTemplate = objectAt(old, kind.templatePath);
  const template = objectAt(object, kind.templatePath);
  const placed = placedMarks(oldTemplate);
  const causes = [LAST_RELOADED_FROM, NUDGE];
  const isMarked =
    annotationIn(old, RECORD) !== undefined ||
    causes.some((key) => annotationIn(oldTemplate, key) !== undefined) ||
    placed.some(([, marks]) => marks.length > 0);
  if (!isMarked) return undefined;
  // No two containers of a valid object have the same name; of an odd one the first counts.
  const marksOf = new Map(placed.toReversed());
  const record = restoreAnnotations([RECORD], old, object);
  const annotations = restoreAnnotations(causes, oldTemplate, template);
  const containers = containersIn(template).flatMap((container, index) =>
    restoreVariables(container, index, marksOf.get(textIn(objectIn(container)['name'])) ?? []),
  );
  return {
    edit: {
      annotations: record.edit,
      templateAnnotations: annotations.edit,
      env: containers.map(({ edit }) => edit),
    },
    restored: {
      variables: containers.reduce((sum, { count }) => sum + count, 0),
      annotations: Object.keys(annotations.edit).length,
      record: Object.keys(record.edit).length,
    },
    overruled: [...containers.flatMap(({ overruled }) => overruled), ...annotations.overruled, ...record.overruled],
  };
}

const containersIn = (template: JsonObject): readonly unknown[] => listIn(objectIn(template['spec'])['containers']);

/** The marks of each container, by its name. */
function placedMarks(template: JsonObject): readonly (readonly [string, readonly PlacedMark[]])[] {
  return containersIn(template).map((container) => {
    const { name, env } = objectIn(container) as Record<string, unknown>;
    const variables = listIn(env).map((variable, index) => ({ variable, index }));
    return [textIn(name), variables.filter(({ variable }) => isMarkVariable(variable))];
  });
}

interface RestoredAnnotations {
  readonly edit: AnnotationEdit;
  readonly overruled: readonly string[];
}

function restoreAnnotations(keys: readonly string[], old: JsonObject, sent: JsonObject): RestoredAnnotations {
  if (!takesAnnotations(sent)) return { edit: {}, overruled: [] };
  const differing = keys.filter((key) => annotationIn(old, key) !== annotationIn(sent, key));
  return {
    edit: Object.fromEntries(differing.map((key) => [key, annotationIn(old, key)])),
    overruled: differing.filter((key) => annotationIn(sent, key) !== undefined),
  };
}

interface RestoredVariables {
  readonly edit: EnvListEdit;
  readonly count: number;
  readonly overruled: readonly string[];
}

/** Nothing if the container has these marks, at these places, and no others. */
function restoreVariables(
  container: unknown,
  index: number,
  marks: readonly PlacedMark[],
): readonly RestoredVariables[] {
  const { env: sent = null } = objectIn(container) as Record<string, unknown>;
  const isOdd = !isObject(container) || (sent !== null && !Array.isArray(sent));
  if (isOdd) return [];
  const env = listIn(sent);
  const others = env.filter((variable) => !isMarkVariable(variable));
  // A variable that a person has made their own is not given twice.
  const taken = new Set(others.map(nameOf));
  // The last one of each first, so that the first is taken from the end.
  const sentMarks = Map.groupBy(env.filter(isMarkVariable).toReversed(), (variable) => canonicalText(variable));
  const missing: string[] = [];
  const wanted: unknown[] = [];
  let next = 0;
  // In one pass: there may be as many marks as a megabyte holds.
  for (const mark of marks.filter(({ variable }) => !taken.has(nameOf(variable)))) {
    const present = sentMarks.get(canonicalText(mark.variable))?.pop();
    if (present === undefined) missing.push(nameOf(mark.variable));
    while (wanted.length < mark.index && next < others.length) wanted.push(others[next++]);
    wanted.push(present ?? mark.variable);
  }
  while (next < others.length) wanted.push(others[next++]);
  if (wanted.length === env.length && wanted.every((variable, at) => variable === env[at])) return [];
  const overruled = [...sentMarks.values()].flat().map(nameOf).toReversed();
  return [{ edit: { container: index, sent, wanted }, count: new Set([...missing, ...overruled]).size, overruled }];
}

const nameOf = (variable: unknown): string => textIn(objectIn(variable)['name']);
