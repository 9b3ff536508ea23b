/** The agent's own login, which no text may touch. */
export const AGENT_USER = 'attune-agent';

/** A line of an ACL text that names a user. */
export interface AclLine {
  readonly number: number;
  readonly name: string;
  readonly words: readonly string[];
}

/** An ACL text, read as Redis reads a file of it: lines, and what of it no rule could make right. */
export interface AclText {
  readonly lines: readonly AclLine[];
  readonly problems: readonly AclProblem[];
}

export interface AclProblem {
  readonly line: number;
  /** Never a word that may be a password or a part of one. */
  readonly what: string;
}

export function parseAclText(text: string): AclText {
  const lines: AclLine[] = [];
  const problems: AclProblem[] = [];
  const seen = new Map<string, number>();
  for (const [at, raw] of text.split('\n').entries()) {
    const line = trimmed(raw, ' \t\r');
    const number = at + 1;
    if (line === '') continue;
    const [keyword, name = '', ...words] = line.split(' ');
    const what = keyword === 'user' ? nameProblem(name, seen.get(name)) : startProblem(line);
    seen.set(name, seen.get(name) ?? number);
    if (what !== undefined) problems.push({ line: number, what });
    else lines.push({ number, name, words: words.map((word) => trimmed(word, '\t\r')) });
  }
  return { lines, problems };
}

const startProblem = (line: string): string =>
  line.startsWith('#')
    ? 'is a comment, and Redis takes none in an ACL text: remove it'
    : 'must begin with "user" and the name of the user, one blank between them';

function nameProblem(name: string, earlier: number | undefined): string | undefined {
  if (name === '') return 'must have the name of a user after "user", one blank between them';
  if (name === AGENT_USER) return `names ${AGENT_USER}, the login of the agent itself: take another name`;
  if (earlier !== undefined) return `names ${userNamed(name)} again, after line ${earlier}: put all its rules into one`;
  return undefined;
}

const LONGEST_NAME = 64;

/** As people are told of a user, whose name may be nothing but a password at the wrong place. */
export const userNamed = (name: string): string =>
  name.length <= LONGEST_NAME && /^[\w.@:-]+$/.test(name) ? `user ${name}` : 'a user with an unusual name';

function trimmed(text: string, blanks: string): string {
  let from = 0;
  let to = text.length;
  while (from < to && blanks.includes(text.charAt(from))) from += 1;
  while (to > from && blanks.includes(text.charAt(to - 1))) to -= 1;
  return text.slice(from, to);
}
