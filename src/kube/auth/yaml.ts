import { parseDocument } from 'yaml';

/**
 * The value of a YAML text, or where it is wrong. The parser's own error would quote the text, and with it a token. In a
 * file of its own, because a package that is imported lazily has other exports in the bundle than outside of it.
 */
export function parseYaml(text: string): { readonly value: unknown } | { readonly wrongAt: string } {
  try {
    const document = parseDocument(text);
    const [error] = document.errors;
    if (!error) return { value: document.toJS() };
    const [place] = error.linePos ?? [];
    return { wrongAt: place ? `line ${place.line}, column ${place.col}` : 'its end' };
  } catch {
    // An alias without an anchor, or with too many expansions, is found only by toJS.
    return { wrongAt: 'an alias' };
  }
}
