import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeAtomically } from '../../state/state-file.ts';

/** The start file of a data folder, and the last one with which a server came up. Nobody else may read them. */
export class StartFiles {
  readonly path: string;
  readonly #goodPath: string;

  constructor(dataDir: string) {
    this.path = join(dataDir, 'redis.conf');
    this.#goodPath = join(dataDir, 'redis.conf.good');
  }

  /** Writes nothing where nothing has changed: a restart needs no room on the disk. */
  async write(text: string): Promise<void> {
    if ((await read(this.path)) !== text) await writeAtomically(this.path, text);
  }

  good(): Promise<string | undefined> {
    return read(this.#goodPath);
  }

  /** A server has come up with the start file. */
  async keepAsGood(): Promise<void> {
    const text = await read(this.path);
    if (text !== undefined && text !== (await this.good())) await writeAtomically(this.#goodPath, text);
  }
}

const read = (path: string): Promise<string | undefined> => readFile(path, 'utf8').catch(() => undefined);
