import { expect, test } from 'vitest';
import { CONTROLLER_OPTIONS } from '../config/options/controller.ts';
import { rowsOf } from '../config/options/option-table.ts';
import { controllerHelp } from './help.ts';
import { layoutFor } from './terminal/layout.ts';

test('every option is explained', () => {
  const text = controllerHelp({ width: 100, colour: false });
  for (const [name, { flag, env, doc }] of rowsOf(CONTROLLER_OPTIONS)) {
    if (flag !== undefined) expect(text, name).toMatch(new RegExp(`^  --${flag}\\b`, 'm'));
    if (env !== undefined) expect(text, name).toMatch(new RegExp(`\\b${env}$`, 'm'));
    expect(text.replace(/\s+/g, ' ')).toContain(doc);
  }
});

test.each([44, 60, 100])('lines fit a page of %i columns', (width) => {
  const lines = controllerHelp({ width, colour: false }).split('\n');
  const tooLong = lines.filter((line) => line.length > width && line.trim().includes(' ') && !line.startsWith('  a'));
  expect(tooLong).toEqual([]);
});

test('colour only for people who can and want to see it', () => {
  expect(layoutFor({ isTTY: true, columns: 80 }, {})).toEqual({ width: 80, colour: true });
  expect(layoutFor({ isTTY: true, columns: 300 }, { NO_COLOR: '1' })).toEqual({ width: 120, colour: false });
  expect(layoutFor({ isTTY: true, columns: 10 }, { TERM: 'dumb' })).toEqual({ width: 40, colour: false });
  expect(layoutFor({}, {})).toEqual({ width: 100, colour: false });
  expect(controllerHelp({ width: 80, colour: true })).toContain('\x1b[');
  expect(controllerHelp({ width: 80, colour: false })).not.toContain('\x1b');
});
