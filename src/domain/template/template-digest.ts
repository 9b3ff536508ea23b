import { CONFIG_HASH, LAST_RELOADED_FROM, NUDGE } from '../../api/annotations.ts';
import { canonicalText, type JsonObject, listIn, objectIn, textIn } from '../../api/json.ts';
import type { Workload } from '../workload/workload.ts';
import { isMarkVariable } from './marks.ts';
import type { TemplateEdit } from './template-edit.ts';

/** All marks in a template: annotations, and for each container its variables by name. */
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
  return digestMarks(workload.templateDigest, { annotations: markTexts(annotations), containers }, digest);
}

/** Without a config hash the digest is what it was before there was such a mark: records and checkpoints hold it. */
function markTexts({
  [LAST_RELOADED_FROM]: from,
  [NUDGE]: nudge,
  [CONFIG_HASH]: hash,
}: JsonObject): Marks['annotations'] {
  const texts = hash === undefined ? [from, nudge] : [from, nudge, hash];
  return texts.map((text) => (typeof text === 'string' ? text : undefined));
}

/** A raw pod template as everybody but reloaders has written it. */
export const withoutMarks = (template: JsonObject): JsonObject => separate(template).bare;

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
  const all = objectIn(metadata['annotations']);
  const { [LAST_RELOADED_FROM]: _from, [NUDGE]: _nudge, [CONFIG_HASH]: _hash, ...annotations } = all;
  const marks: ReadonlyMap<string, string>[] = [];
  const containers = listIn(spec['containers']).map((entry) => {
    const container = objectIn(entry);
    const variables = listIn(container['env']);
    const env = variables.filter((variable) => !isMarkVariable(variable));
    const ours = env.length < variables.length ? variables.filter(isMarkVariable).map(objectIn) : [];
    marks.push(new Map(ours.map((variable) => [textIn(variable['name']), textIn(variable['value'])])));
    return { ...container, env };
  });
  return {
    bare: { ...template, metadata: { ...metadata, annotations }, spec: { ...spec, containers } },
    marks: { annotations: markTexts(all), containers: marks },
  };
}
