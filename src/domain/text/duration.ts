const MS_PER_UNIT: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  '\u00b5s': 1e-3,
  '\u03bcs': 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};
const TERM = String.raw`(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|\u00b5s|\u03bcs|ms|s|m|h)`;
const WHOLE = new RegExp(`^[-+]?(?:${TERM})+$`);
const TERMS = /([\d.]+)([^\d.]+)/g;

/** A Go duration is a signed 64-bit number of nanoseconds. */
const LIMIT_MS = Number(2n ** 63n) / 1e6;

/** Nobody writes more, and an expression with so many terms could take the stack. */
const LONGEST = 1000;

/** Milliseconds of a Go duration such as `1h30m`, `-2.5s` or `0`; undefined if the text is none (`5`, `1d`). */
export function parseDuration(text: string): number | undefined {
  if (text.length > LONGEST) return undefined;
  if (/^[-+]?0$/.test(text)) return 0;
  if (!WHOLE.test(text)) return undefined;
  let total = 0;
  for (const [, amount = '', unit = ''] of text.matchAll(TERMS)) total += Number(amount) * (MS_PER_UNIT[unit] ?? 0);
  if (total >= LIMIT_MS) return undefined;
  return text.startsWith('-') ? -total : total;
}
