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
  const template = `/${kind.templatePath.join('/')}`;
  const { annotations = {}, env = [] } = edit ?? {};
  const needsMetadata = !workload.hasTemplateMetadata && Object.keys(annotations).length > 0;
  return [
    // Not `test`: a version that has moved on is then a conflict (409) and no invalid request (422).
    { op: 'replace', path: '/metadata/resourceVersion', value: workload.resourceVersion },
    ...annotationOperations('/metadata', also.annotations, workload.hasAnnotations),
    ...Object.entries(also.spec).map(([member, value]) => add(`/spec/${member}`, value)),
    ...(needsMetadata
      ? [add(`${template}/metadata`, { annotations })]
      : annotationOperations(`${template}/metadata`, annotations, workload.hasTemplateAnnotations)),
    ...Object.values(Object.groupBy(env, (entry) => entry.container)).flatMap((edits = []) =>
      containerOperations(`${template}/spec/containers`, workload, edits),
    ),
  ];
}

const add = (path: string, value: unknown): JsonOperation => ({ op: 'add', path, value });
const test = (path: string, value: unknown): JsonOperation => ({ op: 'test', path, value });

/** `add` also replaces. It needs its parent, so a missing map comes whole. */
function annotationOperations(
  metadata: string,
  annotations: Beside['annotations'],
  exist: boolean,
): readonly JsonOperation[] {
  const path = `${metadata}/annotations`;
  const entries = Object.entries(annotations);
  const values = entries.filter(([, value]) => value !== null);
  if (!exist) return values.length === 0 ? [] : [add(path, Object.fromEntries(values))];
  return entries.map(([key, value]) => {
    const member = `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    return value === null ? { op: 'remove', path: member } : add(member, value);
  });
}

/** The edits are all of one container. */
function containerOperations(
  containers: string,
  workload: Workload,
  edits: readonly EnvEdit[],
): readonly JsonOperation[] {
  const [first] = edits;
  if (first === undefined) return [];
  const container = `${containers}/${first.container}`;
  const env = `${container}/env`;
  const present = edits.filter((edit) => edit.index !== undefined);
  // The highest position first: a removal moves all that stand behind it.
  const removed = present.filter((edit) => edit.value === undefined).sort((a, b) => (b.index ?? 0) - (a.index ?? 0));
  const fresh = edits
    .filter((edit) => edit.index === undefined && edit.value !== undefined)
    .map(({ variable, value }) => ({ name: variable, value }));
  const isWhole = fresh.length > 0 && !workload.containers[first.container]?.hasEnv;
  return [
    test(`${container}/name`, first.containerName),
    ...present.map((edit) => test(`${env}/${edit.index}/name`, edit.variable)),
    ...present.filter((edit) => edit.value !== undefined).map((edit) => add(`${env}/${edit.index}/value`, edit.value)),
    ...removed.map((edit): JsonOperation => ({ op: 'remove', path: `${env}/${edit.index}` })),
    ...(isWhole ? [add(env, fresh)] : fresh.map((variable) => add(`${env}/-`, variable))),
  ];
}
