/** Reads JSON of unknown shape: a member that is missing or of another type is read as empty, and nothing throws. */
export type JsonObject = Readonly<Record<string, unknown>>;

const EMPTY_OBJECT: JsonObject = Object.freeze({});
const EMPTY_LIST: readonly unknown[] = Object.freeze([]);

export const objectIn = (value: unknown): JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : EMPTY_OBJECT;

export const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : EMPTY_LIST);

export const textIn = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The object at the end of a path of member names. */
export function objectAt(value: unknown, path: readonly string[]): JsonObject {
  return path.reduce<JsonObject>((node, member) => objectIn(node[member]), objectIn(value));
}

// No pod template is as deep as this. A custom resource may be, and must not use up the stack.
const MAX_DEPTH = 500;

/**
 * A text that is equal for two values exactly if they mean the same to Kubernetes: the order of members does not count,
 * and null means absent, as some versions of the server print it and others do not. For digests: it cannot be parsed.
 */
export function canonicalText(value: unknown, depth = 0): string {
  if (typeof value === 'string') return `${value.length}'${value}`;
  if (typeof value !== 'object' || value === null) return String(value);
  if (depth > MAX_DEPTH) return 'too deep';
  let text = '';
  if (Array.isArray(value)) {
    for (const element of value) text += `${canonicalText(element, depth + 1)},`;
    return `[${text}]`;
  }
  const object = value as JsonObject;
  for (const member of Object.keys(object).sort()) {
    const content = object[member];
    if (content === null || content === undefined) continue;
    text += `${member.length}'${member}${canonicalText(content, depth + 1)},`;
  }
  return `{${text}}`;
}
