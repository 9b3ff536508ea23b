/**
 * Characters that steer a terminal or change the order in which it shows text: control characters (C0, DEL, C1), line and
 * paragraph separators, marks and overrides of the writing direction.
 */
export const STEERING = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** As JSON and Go write such a character. */
export const escaped = (char: string): string =>
  SHORT[char] ?? `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** The text on one line, with every character that steers a terminal made visible. */
export const visible = (text: string): string => text.replace(STEERING, escaped);

/** The same for text of several lines. */
export const visibleLines = (text: string): string =>
  text.replace(STEERING, (char) => (char === '\n' ? char : escaped(char)));
