const UNITS: ReadonlyMap<string, number> = new Map([
  ['', 1],
  ['b', 1],
  ['k', 1000],
  ['kb', 1024],
  ['m', 1000 ** 2],
  ['mb', 1024 ** 2],
  ['g', 1000 ** 3],
  ['gb', 1024 ** 3],
]);

/** A number, or an amount of memory, as Redis reads it: `1gb`, `300000`. Undefined: it is none. */
export function amountOf(text: string): number | undefined {
  const [, digits, unit = ''] = /^(\d{1,19})([a-z]{0,2})$/i.exec(text) ?? [];
  const factor = UNITS.get(unit.toLowerCase());
  return digits === undefined || factor === undefined ? undefined : Number(digits) * factor;
}

/** What Redis made of a value, if that is another amount than was written: it cuts some without a word. */
export function cutBy(text: string, readBack: string): string | undefined {
  const [written, read] = [amountOf(text), amountOf(readBack)];
  return written === undefined || read === undefined || written === read
    ? undefined
    : `Redis made ${readBack} of ${text}`;
}

/** How to write a value that Redis refuses with these words, where it is a usual mistake. */
export function cureFor(text: string, words: string): string | undefined {
  const [, digits, unit] = /^(\d+)([KMG])i$/.exec(text) ?? [];
  if (digits !== undefined && unit !== undefined && words.includes('memory'))
    return `Redis writes ${digits}${unit.toLowerCase()}b`;
  if (text === '""' || text === "''") return 'without the quotes it is the empty text';
  return /^(["']).*\1$/.test(text) ? 'the quotes are part of the value: leave them out' : undefined;
}
