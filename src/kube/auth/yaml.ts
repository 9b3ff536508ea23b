import { parseDocument } from 'yaml';

/**
 * What a YAML text says, or where it is wrong. The parser's own words would quote the text, and with it a token. A file
 * of our own, because a package that is imported lazily has another shape in the bundle than it has outside of it.
 */
export function parseYaml(text: string): { readonly value: unknown } | { readonly wrongAt: string } {
  try {
    const document = parseDocument(text);
    const [error] = document.errors;
    if (!error) return { value: document.toJS() };
    const [place] = error.linePos ?? [];
    return { wrongAt: place ? `line ${place.line}, column ${place.col}` : 'its end' };
  } catch {
    // An alias that leads nowhere, or to too much, is found only here.
    return { wrongAt: 'an alias' };
  }
}
