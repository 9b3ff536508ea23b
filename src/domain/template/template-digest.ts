import { LAST_RELOADED_FROM, NUDGE } from '../../api/annotations.ts';
import { canonicalText, type JsonObject, listIn, objectIn, textIn } from '../../api/json.ts';
import type { Workload } from '../workload/workload.ts';
import { isMarkVariable } from './marks.ts';
import type { TemplateEdit } from './template-edit.ts';

/** All marks in a template: two annotations, and for each container its variables by name. */
interface Marks {
  readonly annotations: readonly (string | undefined)[];
  readonly containers: readonly ReadonlyMap<string, string>[];
}

/** Digests of a raw pod template. It does not matter where in a list a mark stands. */
export function digestTemplate(
  template: JsonObject,
  digest: (text: string) => string,
): Pick<Workload, 'templateDigest' | 'fullTemplateDigest'> {
  const { bare, marks } = separate(template);
  const templateDigest = digest(canonicalText(bare));
  return { templateDigest, fullTemplateDigest: digestMarks(templateDigest, marks, digest) };
}

/** What `fullTemplateDigest` will be when the edit is written. */
export function digestAfter(workload: Workload, edit: TemplateEdit, digest: (text: string) => string): string {
  const containers = workload.containers.map((view, container) => {
    const left = new Map(view.marks.filter(isMarkVariable).map(({ name, value }) => [name, value]));
    for (const { variable, value, container: at } of edit.env) {
      if (at !== container) continue;
      if (value === undefined) left.delete(variable);
      else left.set(variable, value);
    }
    return left;
  });
  const annotations = { ...workload.templateAnnotations, ...edit.annotations };
  const marks = { annotations: [annotations[LAST_RELOADED_FROM], annotations[NUDGE]], containers };
  return digestMarks(workload.templateDigest, marks, digest);
}

function digestMarks(
  templateDigest: string,
  { annotations, containers }: Marks,
  digest: (text: string) => string,
): string {
  const variables = containers.map((marks) => [...marks].map(([name, value]) => `${name}=${value}`).sort());
  const isMarked = annotations.some((text) => text !== undefined) || variables.some(({ length }) => length > 0);
  return isMarked ? digest(templateDigest + canonicalText([annotations, variables])) : templateDigest;
}

/**
 * The template without marks, and the marks. A list or map that may exist only because of a mark is always there, if need
 * be empty, so that the digest is the same with and without it.
 */
function separate(template: JsonObject): { readonly bare: JsonObject; readonly marks: Marks } {
  const metadata = objectIn(template['metadata']);
  const spec = objectIn(template['spec']);
  const { [LAST_RELOADED_FROM]: from, [NUDGE]: nudge, ...annotations } = objectIn(metadata['annotations']);
  const marks: ReadonlyMap<string, string>[] = [];
  const containers = listIn(spec['containers']).map((entry) => {
    const container = objectIn(entry);
    const all = listIn(container['env']);
    const env = all.filter((variable) => !isMarkVariable(variable));
    const ours = env.length < all.length ? all.filter(isMarkVariable).map(objectIn) : [];
    marks.push(new Map(ours.map((variable) => [textIn(variable['name']), textIn(variable['value'])])));
    return { ...container, env };
  });
  const texts = [from, nudge].map((text) => (typeof text === 'string' ? text : undefined));
  return {
    bare: { ...template, metadata: { ...metadata, annotations }, spec: { ...spec, containers } },
    marks: { annotations: texts, containers: marks },
  };
}
