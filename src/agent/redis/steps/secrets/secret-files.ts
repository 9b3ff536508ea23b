import { join } from 'node:path';
import type { Problem } from '../../../../domain/redis/cluster-view.ts';
import type { FileContent, Snapshot } from '../../../files/snapshot.ts';

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

/** What a file of a projected Secret holds that need not be text, or why that cannot be used. */
export type SecretBytes =
  | { readonly kind: 'bytes'; readonly bytes: Buffer }
  | { readonly kind: 'bad'; readonly problem: Problem };

/** The key by which pods name a password to each other. */
export function readRotationKey(secrets: Snapshot, secret: string): SecretBytes {
  const path = `${secret}/key`;
  const file = secrets.get(path);
  if (file.kind === 'bytes' && file.bytes.length > 0) return file;
  const what = file.kind === 'bytes' ? EMPTY : unusable(file);
  return { kind: 'bad', problem: { where: join(secrets.root, path), what } };
}

const EMPTY = 'is empty: put a value into the Secret';

const unusable = (file: Exclude<FileContent, { readonly kind: 'bytes' }>): string =>
  file.kind === 'missing'
    ? 'is missing: the secret is not projected. Create the Secret with this key, and mount it there'
    : `cannot be read: ${file.why}`;

/** Without the white space around it, which editors and `echo` add. */
function readText(secrets: Snapshot, path: string, longest: number): SecretText {
  const bad = (what: string): SecretText => ({ kind: 'bad', problem: { where: join(secrets.root, path), what } });
  const file = secrets.get(path);
  if (file.kind !== 'bytes') return bad(unusable(file));
  const text = textOf(file.bytes);
  if (text === undefined) return bad('is not UTF-8 text: put text into the Secret, base64 only once');
  if (text === '') return bad(EMPTY);
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
