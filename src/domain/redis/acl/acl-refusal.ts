import { type AclLine, type AclProblem, userNamed } from './acl-text.ts';

/**
 * Why Redis does not take a line, from its answer to `ACL SETUSER`. Its words quote the rule, which may be a password, or
 * the second half of a password with a blank in it: only what is a rule by its first character is told.
 */
export function problemOf(line: AclLine, answer: string): AclProblem {
  const user = userNamed(line.name);
  const [, quoted = '', kind] = /ACL SETUSER modifier '(.*)': (.*)$/s.exec(answer) ?? [];
  if (kind === undefined) return { line: line.number, what: `${user}: ${kindOf(answer)}` };
  return { line: line.number, what: `${user}: ${ruleNamed(line.words, quoted)}: ${kindOf(kind)}` };
}

function ruleNamed(words: readonly string[], quoted: string): string {
  const at = words.indexOf(quoted);
  if (isPassword(quoted) || at < 0) return 'one of its passwords';
  const rule = `rule ${at + 1}`;
  const looksLikeRule = /^[-+~%&@(]/.test(quoted) && quoted.length <= LONGEST_RULE;
  if (!isPassword(words[at - 1] ?? '')) return looksLikeRule ? `${rule}, ${quoted}` : rule;
  return looksLikeRule ? rule : `${rule} (a password with a blank in it? give its SHA-256 as #…)`;
}

const LONGEST_RULE = 100;

/** `>clear`, `<clear`, `#sha256`, `!sha256`; also what Redis's answer has made of them. */
const isPassword = (word: string): boolean => /^[><#!*]/.test(word);

/** The answers of Redis that say more than that something is wrong. None of them quotes anything. */
const KINDS: readonly RegExp[] = [
  /Syntax error/,
  /Unknown command or category name in ACL/,
  /Unmatched parenthesis in acl selector/,
  /The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters/,
  /The password you are trying to remove from the user does not exist/,
  /Adding a pattern after the \* pattern \(or the 'allkeys' flag\) is not valid and does not have any effect/,
  /Adding a pattern after the \* pattern \(or the 'allchannels' flag\) is not valid and does not have any effect/,
  /Allowing first-arg of a subcommand is not supported/,
];

const kindOf = (answer: string): string =>
  KINDS.map((kind) => kind.exec(answer)?.[0]).find((words) => words !== undefined) ?? 'Redis does not accept it';

const MOST_PROBLEMS = 5;

/** All in one sentence, the first few in full. */
export function problemsInWords(problems: readonly AclProblem[]): string {
  const told = problems.toSorted((a, b) => a.line - b.line).map(({ line, what }) => `line ${line}: ${what}`);
  const more = told.length - MOST_PROBLEMS;
  return [...told.slice(0, MOST_PROBLEMS), ...(more > 0 ? [`and ${more} more`] : [])].join('; ');
}
