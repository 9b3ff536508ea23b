/** Prints a line that stays on the screen. */
export type Say = (line: string) => void;
/** Shows what is being done at this moment and how far it is. Called often; each status replaces the one before. */
export type ShowStatus = (status: string) => void;

/** How work that takes minutes informs the user. */
export interface Progress {
  readonly say: Say;
  readonly showStatus: ShowStatus;
}
