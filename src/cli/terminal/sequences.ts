/** The only control sequences that this program writes to a terminal. */
const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const;

export type Style = keyof typeof CODES;

const sequence = (code: number): string => `\x1b[${code}m`;

export const RESET = sequence(0);
export const styleOf = (style: Style): string => sequence(CODES[style]);
export const OWN_STYLES: readonly string[] = [RESET, ...Object.values(CODES).map(sequence)];

/** Back to the beginning of the line, which is emptied. */
export const CLEAR = '\r\x1b[2K';
