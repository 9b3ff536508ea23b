import type { WorkloadKind } from '../../api/kinds.ts';
import type { Workload } from '../workload/workload.ts';
import type { EnvEdit, TemplateEdit } from './template-edit.ts';

export interface JsonOperation {
  readonly op: 'test' | 'add' | 'replace' | 'remove';
  readonly path: string;
  readonly value?: unknown;
}

/** What is written beside the pod template; null takes an annotation away. */
export interface Beside {
  readonly annotations: Readonly<Record<string, string | null>>;
  readonly spec: Readonly<Record<string, unknown>>;
}

/**
 * A pod template's edit as JSON Patch, for kinds whose lists the server cannot merge by name.
 *
 * Positions are from the object that was decided on. Each is tested for the name that is meant, so that the patch fails
 * as a whole rather than change another container or variable.
 */
export function jsonPatch(
  kind: WorkloadKind,
  workload: Workload,
  edit: TemplateEdit | undefined,
  also: Beside,
): readonly JsonOperation[] {
  const template = pointer(kind.templatePath);
  return [
    // Not `test`: a version that has moved on is then a conflict (409) and no invalid request (422).
    { op: 'replace', path: '/metadata/resourceVersion', value: workload.resourceVersion },
    ...annotationOperations('/metadata', also.annotations, workload.hasAnnotations),
    ...Object.entries(also.spec).map(
      ([member, value]): JsonOperation => ({ op: 'add', path: `/spec/${member}`, value }),
    ),
    ...templateAnnotationOperations(template, workload, edit?.annotations ?? {}),
    ...Object.values(Object.groupBy(edit?.env ?? [], (entry) => entry.container)).flatMap((edits = []) =>
      containerOperations(`${template}/spec/containers`, workload, edits),
    ),
  ];
}

const escaped = (member: string): string => member.replaceAll('~', '~0').replaceAll('/', '~1');
const pointer = (path: readonly string[]): string => path.map((member) => `/${escaped(member)}`).join('');

function templateAnnotationOperations(
  template: string,
  workload: Workload,
  annotations: Readonly<Record<string, string>>,
): readonly JsonOperation[] {
  if (Object.keys(annotations).length === 0) return [];
  if (!workload.hasTemplateMetadata) return [{ op: 'add', path: `${template}/metadata`, value: { annotations } }];
  return annotationOperations(`${template}/metadata`, annotations, workload.hasTemplateAnnotations);
}

/** `add` also replaces. It needs its parent, so a missing map comes whole. */
function annotationOperations(
  metadata: string,
  annotations: Beside['annotations'],
  exist: boolean,
): readonly JsonOperation[] {
  const path = `${metadata}/annotations`;
  const entries = Object.entries(annotations);
  const values = entries.filter(([, value]) => value !== null);
  if (!exist) return values.length === 0 ? [] : [{ op: 'add', path, value: Object.fromEntries(values) }];
  return entries.map(([key, value]): JsonOperation => {
    const member = `${path}/${escaped(key)}`;
    return value === null ? { op: 'remove', path: member } : { op: 'add', path: member, value };
  });
}

function containerOperations(
  containers: string,
  workload: Workload,
  edits: readonly EnvEdit[],
): readonly JsonOperation[] {
  const [first] = edits;
  if (first === undefined) return [];
  const container = `${containers}/${first.container}`;
  const fresh = edits.filter((edit) => edit.index === undefined && edit.value !== undefined).map(variableOf);
  const present = edits.filter((edit) => edit.index !== undefined);
  // The highest position first: a removal moves all that stand behind it.
  const removed = present.filter((edit) => edit.value === undefined).sort((a, b) => (b.index ?? 0) - (a.index ?? 0));
  return [
    { op: 'test', path: `${container}/name`, value: first.containerName },
    ...present.map(
      (edit): JsonOperation => ({ op: 'test', path: `${container}/env/${edit.index}/name`, value: edit.variable }),
    ),
    ...present
      .filter((edit) => edit.value !== undefined)
      .map((edit): JsonOperation => ({ op: 'add', path: `${container}/env/${edit.index}/value`, value: edit.value })),
    ...removed.map((edit): JsonOperation => ({ op: 'remove', path: `${container}/env/${edit.index}` })),
    ...appended(`${container}/env`, fresh, workload.containers[first.container]?.hasEnv === true),
  ];
}

const variableOf = ({ variable, value }: EnvEdit): unknown => ({ name: variable, value });

function appended(env: string, fresh: readonly unknown[], exists: boolean): readonly JsonOperation[] {
  if (fresh.length === 0) return [];
  if (!exists) return [{ op: 'add', path: env, value: fresh }];
  return fresh.map((value) => ({ op: 'add', path: `${env}/-`, value }));
}
