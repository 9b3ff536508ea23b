/** A key as people misspell it: in lower case, and every word in the singular. */
export const plainly = (key: string): string =>
  key
    .toLowerCase()
    .split(/(?<=[./])/)
    .map((word) => word.replace(/e?s(?=[./]?$)/, ''))
    .join('');
