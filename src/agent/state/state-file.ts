import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/**
 * What an agent has to know after it was killed: one JSON file for each part, which is there whole or as it was before.
 * Only this user may read it.
 */
export class StateFile<T> {
  readonly #path: string;
  #value: T;
  /** What the file holds, as far as we know. */
  #kept: string | undefined;
  /** Of two that are saved at once, the later one is what the file holds in the end. */
  #writing: Promise<unknown> = Promise.resolve();

  /** A file that is missing or damaged counts as `empty`. */
  constructor(folder: string, name: string, empty: T) {
    this.#path = join(folder, `${name}.json`);
    const found = read<T>(this.#path);
    this.#value = found?.value ?? empty;
    this.#kept = found?.text;
  }

  get value(): T {
    return this.#value;
  }

  /** The value counts at once; rejects if it could not be kept. Writes nothing where the file has it already. */
  async save(value: T): Promise<void> {
    const text = JSON.stringify(value);
    this.#value = value;
    const written = this.#writing.then(() => this.#write(text));
    this.#writing = written.catch(() => undefined);
    await written;
  }

  async #write(text: string): Promise<void> {
    if (text === this.#kept) return;
    this.#kept = undefined;
    await writeAtomically(this.#path, text);
    this.#kept = text;
  }
}

/** Replaces a file: after a crash it has the old content or the new one. Mode 0600. */
export async function writeAtomically(path: string, content: string | Buffer): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const temporary = `${path}.${randomBytes(4).toString('hex')}`;
  try {
    const file = await open(temporary, 'wx', 0o600);
    try {
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

function read<T>(path: string): { readonly value: T; readonly text: string } | undefined {
  try {
    const text = readFileSync(path, 'utf8');
    return { value: JSON.parse(text) as T, text };
  } catch {
    return undefined;
  }
}
