import { stripVTControlCharacters } from 'node:util';

// Enough to see what went wrong; for the rest one can run it by hand.
const MAX_LINES = 4;
const MAX_LINE_LENGTH = 300;
const MIN_SECRET_LENGTH = 6;

/**
 * The last lines that a plugin wrote to stderr, without control characters and without anything secret: what it wrote to
 * stdout (the credential), the values of secret variables, and whatever looks like a credential.
 */
export function redactedStderr(
  stderr: string,
  stdout: string,
  env: Readonly<Record<string, string | undefined>>,
): string {
  const hidden = [...stringsIn(stdout), ...secretsIn(env)].filter(({ length }) => length >= MIN_SECRET_LENGTH);
  // The longest first: one may be a part of another.
  hidden.sort((a, b) => b.length - a.length);
  return linesOf(stderr)
    .slice(-MAX_LINES)
    .map((line) => cut(masked(hidden.reduce((rest, secret) => rest.replaceAll(secret, HIDDEN), line))))
    .join(' | ');
}

/** The kubeconfig's `installHint`, for a plugin that is not installed. */
export const installHintText = (hint: string): string => linesOf(hint).map(cut).slice(0, MAX_LINES).join(' | ');

const linesOf = (text: string): readonly string[] =>
  stripVTControlCharacters(text)
    .split(/[\r\n]+/)
    .map((line) => line.replace(/[\p{Cc}\s]+/gu, ' ').trim())
    .filter((line) => line !== '');

const cut = (line: string): string => (line.length > MAX_LINE_LENGTH ? `${line.slice(0, MAX_LINE_LENGTH)}…` : line);

/** All values of the output, except those that the protocol prescribes. */
function stringsIn(stdout: string): readonly string[] {
  const strings: string[] = [];
  try {
    JSON.parse(stdout, (key, value: unknown) => {
      if (typeof value === 'string' && !PROTOCOL.has(key)) strings.push(value, ...value.split('\n'));
    });
    return strings;
  } catch {
    return stdout.match(/[^\s"'{}[\],]+/g) ?? [];
  }
}

const PROTOCOL = new Set(['apiVersion', 'kind', 'expirationTimestamp']);

const secretsIn = (env: Readonly<Record<string, string | undefined>>): readonly string[] =>
  Object.entries(env).flatMap(([name, value]) =>
    /SECRET|TOKEN|PASSW|CREDENTIAL|_KEY/i.test(name) && value ? [value] : [],
  );

const HIDDEN = '[hidden]';
const ASSIGNED = /((?:token|passw(?:or)?d|secret|api[_-]?key)["']?(?:=|: ?))["']?[^\s"',;]{6,}/gi;
const AUTHORIZATION = /\b(bearer|basic) +[\w.~+/=-]{8,}/gi;
const JWT = /\beyJ[\w-]+\.[\w-]+(?:\.[\w-]+)?/g;
const LONG = /[A-Za-z0-9+/_=-]{32,}/g;
/** Long runs with digits, small and capital letters are no words. */
const isRandom = (run: string): boolean => /\d/.test(run) && /[a-z]/.test(run) && /[A-Z]/.test(run);

const masked = (line: string): string =>
  line
    .replace(JWT, HIDDEN)
    .replace(AUTHORIZATION, `$1 ${HIDDEN}`)
    .replace(ASSIGNED, `$1${HIDDEN}`)
    .replace(LONG, (run) => (isRandom(run) ? HIDDEN : run));
