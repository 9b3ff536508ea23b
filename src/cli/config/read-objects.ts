import { parseAllDocuments, type Tags } from 'yaml';
import { listIn, objectIn, textIn } from '../../api/json.ts';

type Read = { readonly objects: readonly unknown[] } | { readonly wrong: string };

/** What the YAML documents of a text hold, the elements of lists one by one; or where it is wrong, without a word of it. */
export function readObjects(text: string): Read {
  try {
    // kubectl reads YAML 1.1, where `no` is false; but a day stays the text that it is.
    const documents = [...parseAllDocuments(text, { version: '1.1', customTags: withoutTimes, logLevel: 'error' })];
    const [error] = documents.flatMap((document) => document.errors);
    const [place] = error?.linePos ?? [];
    if (error) return { wrong: `is no YAML: look at ${place ? `line ${place.line}, column ${place.col}` : 'its end'}` };
    return { objects: documents.flatMap((document) => elementsOf(document.toJS({ maxAliasCount: 1000 }))) };
  } catch {
    return { wrong: 'is no YAML that makes sense: look for aliases without an anchor, and for endless nesting' };
  }
}

const withoutTimes = (tags: Tags): Tags =>
  tags.filter((tag) => typeof tag === 'string' || tag.tag !== 'tag:yaml.org,2002:timestamp');

/** kubectl takes a `List` of any kind apart. A document with nothing in it is none. */
function elementsOf(value: unknown): readonly unknown[] {
  if (value === null || value === undefined) return [];
  const { kind, items } = objectIn(value) as Record<string, unknown>;
  return textIn(kind).endsWith('List') && Array.isArray(items) ? listIn(items) : [value];
}
