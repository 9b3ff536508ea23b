import { isSecretKey } from '../../../domain/redis/config/secret-keys.ts';

/** Redis's words of refusal without the secrets of the command that it refuses, parts of which it likes to quote. */
export function refusalWords(words: string, command: readonly (string | Buffer)[]): string {
  const [code = '', ...rest] = words.split(' ');
  // An unknown command comes back with its arguments, each perhaps cut off, so that no search would find it.
  let text = rest.join(' ').replace(/,? with args beginning with:.*$/s, '');
  // The longest first: one password may be the beginning of another.
  for (const secret of secretsOf(command).toSorted((a, b) => b.length - a.length))
    text = text.replaceAll(secret, '***');
  return text === '' ? code : `${code} ${text}`;
}

function secretsOf(command: readonly (string | Buffer)[]): readonly string[] {
  const words = command.map(String);
  const [name, sub] = words.map((word) => word.toLowerCase());
  let secrets: readonly string[] = [];
  if (name === 'auth') secrets = words.slice(-1);
  else if (name === 'acl' && sub === 'setuser') secrets = words.slice(3).flatMap(passwordsOf);
  else if (name === 'config' && sub === 'set')
    secrets = words.slice(2).filter((_, at) => at % 2 === 1 && isSecretKey(words[at + 1] ?? ''));
  else if (name === 'hello' || name === 'migrate') secrets = words.slice(2);
  // Redis puts blanks for line ends into an answer of one line.
  return secrets.flatMap((secret) => [secret, secret.replace(/[\r\n]/g, ' ')]).filter((secret) => secret !== '');
}

/** A rule of an ACL user with a password or its digest: `>secret`, `#5e88…`; also inside of a selector. */
const passwordsOf = (rule: string): readonly string[] => (/^[><#!]./s.test(rule) ? [rule.slice(1)] : []);
