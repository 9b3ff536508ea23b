import { expect, test } from 'vitest';
import { guardedIo } from './guarded-io.ts';
import type { Io } from './io.ts';
import { CLEAR } from './sequences.ts';
import { painter } from './table.ts';

function written(text: string): string {
  const parts: string[] = [];
  const stdout = (part: string) => void parts.push(part);
  const io = guardedIo({ stdout, stderr: stdout } as unknown as Io);
  io.stdout(text);
  io.stderr(text);
  expect(parts[1]).toBe(parts[0]);
  return parts[0] ?? '';
}

test('our own colours and rewritten lines stay as they are', () => {
  const paint = painter({ width: 80, colour: true });
  const own = `${CLEAR}${paint('bold', 'a')} ${paint('red', 'b')}\tc\n`;
  expect(written(own)).toBe(own);
});

test.each([
  ['\x1b]0;title\x07', '\\u001b]0;title\\u0007'],
  ['\x1b[2J\x1b[H', '\\u001b[2J\\u001b[H'],
  ['\x1b[8mhidden', '\\u001b[8mhidden'],
  ['over\rwritten', 'over\\rwritten'],
  ['\x9b2J', '\\u009b2J'],
  ['\u202egnp.exe', '\\u202egnp.exe'],
])('nothing else steers the terminal: %j', (text, shown) => {
  expect(written(text)).toBe(shown);
});
