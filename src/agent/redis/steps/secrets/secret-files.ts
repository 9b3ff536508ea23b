import { join } from 'node:path';
import type { Problem } from '../../../../domain/redis/cluster-view.ts';
import type { Snapshot } from '../../../files/snapshot.ts';

/** What a file of a projected Secret holds, or why that cannot be used. */
export type SecretText =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'bad'; readonly problem: Problem };

/** Redis reads no longer word from somebody who has not logged in yet. */
const LONGEST_PASSWORD = 16_384;
const LONGEST_ACL = 1_048_576;

export const readPassword = (secrets: Snapshot, secret: string): SecretText =>
  readText(secrets, `${secret}/password`, LONGEST_PASSWORD);

export const readAcl = (secrets: Snapshot, secret: string): SecretText =>
  readText(secrets, `${secret}/acl`, LONGEST_ACL);

/** The key by which pods name a password to each other; undefined where there is none. */
export function readRotationKey(secrets: Snapshot, secret: string | undefined): Buffer | undefined {
  const file = secret === undefined ? undefined : secrets.get(`${secret}/key`);
  return file?.kind === 'bytes' && file.bytes.length > 0 ? file.bytes : undefined;
}

/** Without the white space around it, which editors and `echo` add. */
function readText(secrets: Snapshot, path: string, longest: number): SecretText {
  const bad = (what: string): SecretText => ({ kind: 'bad', problem: { where: join(secrets.root, path), what } });
  const file = secrets.get(path);
  if (file.kind === 'missing')
    return bad('is missing: the secret is not projected. Create the Secret with this key, and mount it there');
  if (file.kind === 'unreadable') return bad(`cannot be read: ${file.why}`);
  const text = textOf(file.bytes);
  if (text === undefined) return bad('is not UTF-8 text: put text into the Secret, base64 only once');
  if (text === '') return bad('is empty: put a value into the Secret');
  if (text.includes('\0')) return bad('has a NUL byte in it: remove it from the Secret');
  const { length } = Buffer.from(text);
  return length > longest ? bad(`is ${length} bytes long: at most ${longest} are possible`) : { kind: 'text', text };
}

const BLANKS: readonly number[] = Array.from(' \t\r\n\v\f', (blank) => blank.charCodeAt(0));

function textOf(bytes: Buffer): string | undefined {
  const isBlank = (at: number): boolean => BLANKS.includes(bytes[at] ?? 0);
  let from = 0;
  let to = bytes.length;
  while (from < to && isBlank(from)) from += 1;
  while (to > from && isBlank(to - 1)) to -= 1;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes.subarray(from, to));
  } catch {
    return undefined;
  }
}
