/** Undefined for what is not JSON. The error of JSON.parse quotes the text, which may be secret: it is not passed on. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
