import type { Layout } from './layout.ts';
import { RESET, type Style, styleOf } from './sequences.ts';

/** Text for people: coloured where that is welcome. */
export type Paint = (style: Style, text: string) => string;

export const painter = ({ colour }: Layout): Paint =>
  colour ? (style, text) => `${styleOf(style)}${text}${RESET}` : (_, text) => text;

/** Columns as wide as their widest cell; the last one wraps within the width, under itself, or below a row too wide. */
export function table(rows: readonly (readonly string[])[], { width }: Layout, indent = 0): string {
  const columns = Math.max(0, ...rows.map((row) => row.length));
  const widths = widthsOf(rows, columns - 1);
  const beside = indent + widths.reduce((sum, each) => sum + each + GAP, 0);
  const isNarrow = width - beside < MIN_LAST;
  const left = isNarrow ? indent + 2 * GAP : beside;
  return rows
    .map((row) => {
      const cells = widths.map((each, at) => pad(row[at] ?? '', each + GAP)).join('');
      const lines = wrapped(row[columns - 1] ?? '', width - left).map((line) => ' '.repeat(left) + line);
      if (isNarrow) return [' '.repeat(indent) + cells, ...lines];
      return [' '.repeat(indent) + cells + (lines[0] ?? '').slice(left), ...lines.slice(1)];
    })
    .flatMap((lines) => lines.map((line) => line.trimEnd()).filter((line) => line !== ''))
    .join('\n')
    .concat(rows.length > 0 ? '\n' : '');
}

/** How wide such a table is where nothing wraps. */
export function widthOf(rows: readonly (readonly string[])[]): number {
  const widths = widthsOf(rows, Math.max(0, ...rows.map((row) => row.length)));
  return widths.reduce((sum, each) => sum + each, GAP * (widths.length - 1));
}

const widthsOf = (rows: readonly (readonly string[])[], columns: number): readonly number[] =>
  Array.from({ length: columns }, (_, at) => Math.max(...rows.map((row) => visible(row[at] ?? ''))));

const GAP = 2;
const MIN_LAST = 30;

/** Breaks at spaces; a word longer than the line stays whole, so that it can be copied. */
export function wrapped(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const line = lines.at(-1);
    if (line === undefined || visible(line) + 1 + visible(word) > width) lines.push(word);
    else lines[lines.length - 1] = `${line} ${word}`;
  }
  return lines;
}

const pad = (text: string, width: number): string => text + ' '.repeat(Math.max(0, width - visible(text)));

// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what colours are made of
const visible = (text: string): number => text.replace(/\x1b\[\d+m/g, '').length;

/** How long ago, or how far ahead, in the largest unit that says something. */
export function span(ms: number): string {
  const seconds = Math.round(Math.abs(ms) / 1000);
  for (const [unit, size] of Object.entries(UNITS))
    if (seconds >= 2 * size) return `${Math.floor(seconds / size)} ${unit}`;
  return `${seconds} s`;
}

const UNITS = { d: 86_400, h: 3600, min: 60 };
