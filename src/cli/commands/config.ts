import { readFile } from 'node:fs/promises';
import { nearest } from '../../config/nearest.ts';
import { type Checked, checkObject } from '../config/check-object.ts';
import { checkedText } from '../config/checked-text.ts';
import { readObjects } from '../config/read-objects.ts';
import { OWN_FLAGS } from '../own-flags.ts';
import { readRequest } from '../request.ts';
import { ending, refuse } from '../terminal/ending.ts';
import type { Io } from '../terminal/io.ts';
import { layoutFor } from '../terminal/layout.ts';
import { printReport } from '../terminal/print-report.ts';
import { unlessStopped } from '../terminal/signals.ts';

const USAGE = `attune config check FILE... [-o json]

Checks ReloaderConfigs before they are applied, as the API server and the controller would: fields that do not exist, values
of another type, names, expressions, selectors and durations that mean nothing. Asks no cluster. A file may hold several YAML
documents; objects of other kinds are passed over. - is standard input.

  attune config check reload.yaml
  helm template shop ./shop | attune config check -

  -o, --output json           for programs

Ends with 0 if there is no problem, 1 if there is one, 2 if a file cannot be read.
`;

/** `attune config check`: what would become of ReloaderConfigs. */
export async function run(argv: readonly string[], io: Io): Promise<number> {
  const { operands, own, controller, help, problems } = readRequest(argv, OWN_FLAGS.config);
  if (help) {
    io.stdout(USAGE);
    return 0;
  }
  const [word, ...files] = operands;
  const output = own.get('output');
  const wrong = [...problems, ...controller.map((flag) => `${flag} has no meaning here`), ...wrongWords(word, files)];
  if (output !== undefined && output !== 'json') wrong.push(`-o knows json, not ${output}`);
  if (wrong.length > 0) return refuse('config', wrong, io);
  return await ending('config', io, () => unlessStopped(check(files, output === 'json', io), io.signal), 2);
}

function wrongWords(word: string | undefined, files: readonly string[]): readonly string[] {
  if (word !== 'check') {
    const guess = word === undefined ? 'check' : nearest(word, ['check']);
    return [
      `${word === undefined ? 'a word is missing' : `there is no "${word}"`}${guess ? ', did you mean check?' : ''}`,
    ];
  }
  return files.length === 0 ? ['name the files to check, or - for standard input'] : [];
}

async function check(files: readonly string[], json: boolean, io: Io): Promise<number> {
  const found: Checked[] = [];
  let isUnreadable = false;
  for (const file of files) {
    const text = await contentOf(file, io).catch((error: unknown) => unreadable(file, error));
    isUnreadable ||= typeof text !== 'string';
    found.push(...(typeof text === 'string' ? checkText(file, text) : [text]));
  }
  printReport(io, json, found, (told) => checkedText(told, layoutFor(io.terminal, io.env)));
  if (isUnreadable) return 2;
  return found.some(({ problems }) => problems.length > 0) ? 1 : 0;
}

async function contentOf(file: string, io: Io): Promise<string> {
  return file === '-' && io.readInput ? await io.readInput() : await readFile(file, 'utf8');
}

function checkText(file: string, text: string): readonly Checked[] {
  const read = readObjects(text);
  if ('objects' in read) return read.objects.map((object) => checkObject(file, object));
  return [{ file, checked: false, problems: [{ path: '', message: read.wrong }], notes: [] }];
}

function unreadable(file: string, error: unknown): Checked {
  const why = error instanceof Error && 'code' in error ? error.code : String(error);
  const message = why === 'EISDIR' ? 'is a folder: name its files' : `cannot be read (${why})`;
  return { file, checked: false, problems: [{ path: '', message }], notes: [] };
}
