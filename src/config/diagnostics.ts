/** What is wrong with the settings: problems stop the start, warnings are logged. */
export interface Diagnostics {
  readonly problems: string[];
  readonly warnings: string[];
}

/** A user's own text within a message: on one line, and shortened. */
export const quote = (text: string): string => JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
