import { expect, test } from 'vitest';
import type { Io } from './io.ts';
import { printReport } from './print-report.ts';

function printed(json: boolean, report: unknown, text: (report: never) => string = () => ''): string {
  const parts: string[] = [];
  const io = { stdout: (part: string) => void parts.push(part) } as unknown as Io;
  printReport(io, json, report as never, text);
  return parts.join('');
}

const HOSTILE = { message: '\x1b[2Jgone\nattune: all is well\u202e', list: [{ 'k\x9b': 'v\x07' }], n: 1, none: null };

test('text is made of a report that steers no terminal', () => {
  const shown = { message: '\\u001b[2Jgone\\nattune: all is well\\u202e', list: [{ 'k\\u009b': 'v\\u0007' }] };
  let told: unknown;
  printed(false, HOSTILE, (report) => {
    told = report;
    return '';
  });
  expect(told).toEqual({ ...shown, n: 1, none: null });
});

test('JSON says the same to a program, and steers no terminal either', () => {
  const text = printed(true, HOSTILE);
  expect(JSON.parse(text)).toEqual(HOSTILE);
  expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
});
