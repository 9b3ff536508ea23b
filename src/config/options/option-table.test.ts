import { expect, test } from 'vitest';
import { bool, duration, text } from './option.ts';
import { flagsOf, readOptions } from './option-table.ts';

const ROW = { group: 'process', doc: 'For this test.' } as const;
const TABLE = {
  period: duration({ ...ROW, flag: 'period', env: 'PERIOD', fallback: '1s' }),
  loud: bool({ ...ROW, flag: 'loud' }),
  token: text({ ...ROW, env: 'TOKEN' }),
};

test('any command reads the rows of its own table, and no others', () => {
  const { values, diagnostics } = readOptions(TABLE, ['--loud', '--compat=stakater'], { PERIOD: '2s', TOKEN: 't' });
  const { period, loud, token } = values satisfies { period: number; loud: boolean; token: string };
  expect([period, loud, token]).toEqual([2000, true, 't']);
  expect(diagnostics.problems).toEqual(['unknown flag: --compat']);
  expect([...flagsOf(TABLE)]).toEqual([
    ['period', { bare: false }],
    ['loud', { bare: true }],
  ]);
});

test('a flag beats its variable, and for a wrong value the fallback stands in', () => {
  const { values, diagnostics } = readOptions(TABLE, ['--period=soon'], { PERIOD: '2s' });
  expect(values.period).toBe(1000);
  expect(diagnostics.problems).toEqual(['--period must be a duration like 1s, 500ms or 1h30m, not "soon"']);
});
