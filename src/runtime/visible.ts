/** C0 controls; DEL and C1; marks of the writing direction; line and paragraph separators and overrides; isolates. */
const RANGES = [
  [0x00, 0x1f],
  [0x7f, 0x9f],
  [0x61c, 0x61c],
  [0x200e, 0x200f],
  [0x2028, 0x202e],
  [0x2066, 0x2069],
] as const;
const unit = (code: number): string => `\\u${code.toString(16).padStart(4, '0')}`;

/**
 * Characters that steer a terminal or change the order in which it shows text. By their numbers: `\p{Cc}` and
 * `\p{Bidi_Control}` load 4 MB of ICU.
 */
export const STEERING = new RegExp(`[${RANGES.map(([first, last]) => `${unit(first)}-${unit(last)}`).join('')}]`, 'g');

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** As JSON and Go write such a character. */
export const escaped = (char: string): string => SHORT[char] ?? unit(char.charCodeAt(0));

/** The text on one line, with every character that steers a terminal made visible. */
export const visible = (text: string): string => text.replace(STEERING, escaped);

/** The same for text of several lines. */
export const visibleLines = (text: string): string =>
  text.replace(STEERING, (char) => (char === '\n' ? char : escaped(char)));
