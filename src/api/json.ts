/** Reading JSON whose shape nobody has promised: whatever is missing or odd reads as empty, and nothing throws. */
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

/**
 * One text per value: members sorted, those that are null left out, because to Kubernetes null means absent and
 * servers of different versions differ in whether they print it.
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const object = value as JsonObject;
  let text = '';
  for (const member of Object.keys(object).sort()) {
    const content = object[member];
    if (content === null || content === undefined) continue;
    text += `${text === '' ? '' : ','}${JSON.stringify(member)}:${canonicalJson(content)}`;
  }
  return `{${text}}`;
}
