import { isSecretKey } from '../../../../domain/redis/config/secret-keys.ts';

const LONGEST = 500;
/** Shorter than this a secret is covered only between quotes: it may be part of any word. */
const SHORT_SECRET = 4;

/** What Redis prints with the urgency of an error at every start. */
const NOISE =
  /oO0OoO0|^Redis version=|^Configuration loaded|^Server initialized|^WARNING (Memory overcommit|You have Transparent|overcommit_memory)|^WARNING: (The TCP backlog|no config file)|^Your system is vulnerable|^Critical error while loading ACLs/;

/**
 * Why a redis-server ended at its start, out of all that it has printed: Redis's own words, without paths of its folder.
 * Undefined where it said nothing of use.
 */
export function startWords(output: string, folder: string): string | undefined {
  const lines = output.split('\n').map((line) => line.trim());
  const words = fatal(lines) ?? warnings(lines) ?? lastLine(lines);
  return words?.replaceAll(`${folder}/`, '').slice(0, LONGEST);
}

/** Covers what nobody may read. */
export function cover(words: string, secrets: Iterable<string>): string {
  let covered = words;
  for (const secret of secrets) {
    if (secret.length >= SHORT_SECRET) covered = covered.replaceAll(secret, '***');
    else covered = covered.replaceAll(`'${secret}'`, "'***'");
  }
  return covered;
}

/** Passwords, and their hashes, in the words of an ACL rule. */
const SECRET_RULE = /(?<=^|\s)[<>#!]\S+/gm;

/** What of directives and the content of an ACL file is secret. */
export function* secretsOf(directives: readonly (readonly [string, string])[], acl = ''): Iterable<string> {
  for (const [key, value] of directives) {
    if (value !== '' && isSecretKey(key)) yield value;
    if (/^user$/i.test(key)) yield* value.match(SECRET_RULE) ?? [];
  }
  for (const [rule] of acl.matchAll(SECRET_RULE)) yield rule;
}

/** A file that Redis cannot read: the line that it quotes may hold a password, so only the directive is told. */
function fatal(lines: readonly string[]): string | undefined {
  const start = lines.findLastIndex((line) => line.includes('FATAL CONFIG FILE ERROR'));
  if (start < 0) return undefined;
  const quoted = lines.slice(start).find((line) => line.startsWith('>>>'));
  const directive = /^>>> '(\S+?)['\s]/.exec(quoted ?? '')?.[1];
  const reason = lines.slice(start).findLast((line) => line !== '' && !line.startsWith('>>>')) ?? '';
  return directive === undefined ? reason : `${directive}: ${reason}`;
}

/** The last two, of which the first has the cause and the second the consequence, or each has a part. */
function warnings(lines: readonly string[]): string | undefined {
  if (lines.some((line) => line.includes('REDIS BUG REPORT START'))) return undefined;
  const texts = lines
    .map((line) => /^\d+:[A-Z] .*? # (.*)$/.exec(line)?.[1] ?? '')
    .filter((text) => text !== '' && !NOISE.test(text))
    .map((text) =>
      text
        .replace(/^Aborting Redis startup because of ACL errors: /, '')
        .replace(/\.? WARNING: ACL errors detected, no change to the previously active ACL rules was performed$/, ''),
    );
  return texts.length === 0 ? undefined : texts.slice(-2).join('; ');
}

/** Redis was not far enough to log: a line of its own, or of the system's loader. */
function lastLine(lines: readonly string[]): string | undefined {
  if (lines.some((line) => line.includes('REDIS BUG REPORT START'))) return undefined;
  return lines.findLast((line) => line !== '' && !/^\d+:[A-Z] /.test(line));
}
