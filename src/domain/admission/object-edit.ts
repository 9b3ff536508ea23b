import { type JsonObject, objectAt, objectIn } from '../../api/json.ts';
import type { JsonOperation } from '../template/json-patch.ts';

/** Annotations to be set; undefined takes one away that is there. */
export type AnnotationEdit = Readonly<Record<string, string | undefined>>;

/** The list of variables that a container is to have in place of the one that was sent. What both have is identical. */
export interface EnvListEdit {
  readonly container: number;
  readonly sent: unknown;
  readonly wanted: readonly unknown[];
}

/** What is to be changed in an object that is being written: only what differs. */
export interface ObjectEdit {
  readonly annotations: AnnotationEdit;
  readonly templateAnnotations: AnnotationEdit;
  readonly env: readonly EnvListEdit[];
}

/**
 * The edit as JSON Patch, which names these places and no others. A diff of the whole object would take away what this
 * version knows nothing of.
 */
export function operationsOf(
  edit: ObjectEdit,
  object: JsonObject,
  templatePath: readonly string[],
): readonly JsonOperation[] {
  const template = `/${templatePath.join('/')}`;
  const templateMetadata = objectAt(object, templatePath)['metadata'];
  return [
    ...annotationOperations('/metadata', object['metadata'], edit.annotations),
    ...annotationOperations(`${template}/metadata`, templateMetadata, edit.templateAnnotations),
    ...edit.env.map((env) => envOperation(`${template}/spec/containers/${env.container}/env`, env)),
  ];
}

export const isObject = (value: unknown): boolean => objectIn(value) === value;

const isMissing = (value: unknown): boolean => value === undefined || value === null;

/**
 * Whether an object or a pod template can take annotations. A Rollout can do without a template of its own, and what is
 * of another type than Kubernetes' is left alone.
 */
export function takesAnnotations(owner: JsonObject): boolean {
  const { metadata } = owner as Record<string, unknown>;
  const annotations = objectIn(metadata)['annotations'];
  const isFit = isMissing(metadata) || (isObject(metadata) && (isMissing(annotations) || isObject(annotations)));
  return isFit && Object.keys(owner).length > 0;
}

/** The text of an annotation of an object or a pod template; undefined where there is none. */
export function annotationIn(owner: JsonObject, key: string): string | undefined {
  const value = objectAt(owner, ['metadata', 'annotations'])[key];
  return typeof value === 'string' ? value : undefined;
}

const add = (path: string, value: unknown): JsonOperation => ({ op: 'add', path, value });
const remove = (path: string): JsonOperation => ({ op: 'remove', path });

/** `add` also replaces. It needs its parent, so a missing map comes whole; one that nothing is left in goes. */
function annotationOperations(path: string, metadata: unknown, edit: AnnotationEdit): readonly JsonOperation[] {
  const entries = Object.entries(edit);
  if (entries.length === 0) return [];
  const sent = objectIn(metadata)['annotations'];
  if (!isObject(metadata)) return [add(path, { annotations: edit })];
  if (!isObject(sent)) return [add(`${path}/annotations`, edit)];
  const isEmptied =
    entries.length === Object.keys(objectIn(sent)).length && entries.every(([, value]) => value === undefined);
  if (isEmptied) return [remove(`${path}/annotations`)];
  return entries.map(([key, value]) => {
    const member = `${path}/annotations/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    return value === undefined ? remove(member) : add(member, value);
  });
}

/** One variable by itself where that is all, else the whole list. */
function envOperation(path: string, { sent, wanted }: EnvListEdit): JsonOperation {
  if (!Array.isArray(sent)) return add(path, wanted);
  if (wanted.length === 0) return remove(path);
  const shorter = Math.min(wanted.length, sent.length);
  let head = 0;
  while (head < shorter && wanted[head] === sent[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && wanted.at(-1 - tail) === sent.at(-1 - tail)) tail += 1;
  const surplus = sent.length - head - tail;
  const missing = wanted.length - head - tail;
  const at = `${path}/${head}`;
  if (surplus === 0 && missing === 1) return add(at, wanted[head]);
  if (surplus === 1 && missing === 0) return remove(at);
  if (surplus === 1 && missing === 1) return { op: 'replace', path: at, value: wanted[head] };
  return { op: 'replace', path, value: wanted };
}
