/** What a command uses of its process. */
export interface Io {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Each is given whole lines, with their ends; on a terminal also one that is rewritten while somebody waits. */
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
  /** Says when the user wants to stop: Ctrl-C, SIGTERM or a closed terminal. */
  readonly signal: AbortSignal;
  /** The terminal behind stdout, if there is one. */
  readonly terminal: { readonly isTTY?: boolean; readonly columns?: number };
  /** The same for stdin. */
  readonly input?: { readonly isTTY?: boolean };
  /** The same for stderr. */
  readonly errorTerminal?: { readonly isTTY?: boolean; readonly columns?: number };
  /** What comes on stdin, until its end. */
  readonly readInput?: () => Promise<string>;
}
