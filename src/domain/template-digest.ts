import { LAST_RELOADED_FROM, NUDGE } from '../api/annotations.ts';
import { canonicalText, type JsonObject, listIn, objectIn } from '../api/json.ts';
import { isMarkVariable } from './marks.ts';

export interface TemplateDigests {
  /** Without any reloader's marks. */
  readonly templateDigest: string;
  /** Marks included, wherever in a list they stand. */
  readonly fullTemplateDigest: string;
}

/** Digests of a raw pod template. */
export function digestTemplate(template: JsonObject, digest: (text: string) => string): TemplateDigests {
  const { bare, marks } = separate(template);
  const templateDigest = digest(canonicalText(bare));
  const isMarked = marks.some((entry) => entry !== undefined);
  return {
    templateDigest,
    fullTemplateDigest: isMarked ? digest(templateDigest + canonicalText(marks)) : templateDigest,
  };
}

/**
 * The template as if no reloader had ever touched it, and what reloaders left there. A list or map that a mark could have
 * brought into being is always there, if need be empty.
 */
function separate(template: JsonObject): { readonly bare: JsonObject; readonly marks: readonly unknown[] } {
  const metadata = objectIn(template['metadata']);
  const spec = objectIn(template['spec']);
  const { [LAST_RELOADED_FROM]: from, [NUDGE]: nudge, ...annotations } = objectIn(metadata['annotations']);
  const marks: unknown[] = [from, nudge];
  const containers = listIn(spec['containers']).map((entry) => {
    const container = objectIn(entry);
    const all = listIn(container['env']);
    const env = all.filter((variable) => !isMarkVariable(variable));
    marks.push(env.length < all.length ? all.filter(isMarkVariable) : undefined);
    return { ...container, env };
  });
  return { bare: { ...template, metadata: { ...metadata, annotations }, spec: { ...spec, containers } }, marks };
}
