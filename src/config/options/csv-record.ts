/**
 * One CSV record as Go's encoding/csv reads it, or undefined if it is none: quotes protect commas, a doubled quote is one,
 * nothing is trimmed, and a record ends with its line. The empty text is the empty list.
 */
export function parseCsvRecord(text: string): readonly string[] | undefined {
  if (text === '') return [];
  const fields: string[] = [];
  const pattern = /(?:"((?:[^"]|"")*)"|([^",\r\n]*(?:\r(?!\n|$)[^",\r\n]*)*))(,|\r?\n|\r?$)/y;
  // Go skips empty lines before the record.
  if (/^(?:\r?\n)*\r?$/.test(text)) return undefined;
  pattern.lastIndex = /^(?:\r?\n)*/.exec(text)?.[0].length ?? 0;
  for (;;) {
    const match = pattern.exec(text);
    if (!match) return undefined;
    const [, quoted, plain = '', end] = match;
    fields.push(quoted === undefined ? plain : quoted.replaceAll('""', '"').replaceAll('\r\n', '\n'));
    if (end !== ',') return fields;
  }
}
