import { escaped, STEERING } from '../../runtime/visible.ts';
import type { Io } from './io.ts';
import { CLEAR, OWN_STYLES } from './sequences.ts';

const OWN = [CLEAR, ...OWN_STYLES].map((sequence) => sequence.replace('[', '\\[')).join('|');
const OWN_OR_STEERING = new RegExp(`(${OWN})|${STEERING.source}`, 'gu');

/** The same, but nothing that is written can steer the terminal other than by our own colours and rewritten lines. */
export function guardedIo(io: Io): Io {
  return { ...io, stdout: (text) => io.stdout(guarded(text)), stderr: (text) => io.stderr(guarded(text)) };
}

const guarded = (text: string): string =>
  text.replace(OWN_OR_STEERING, (found, own?: string) =>
    own || found === '\n' || found === '\t' ? found : escaped(found),
  );
