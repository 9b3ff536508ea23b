import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MOST_PER_NAMESPACE } from './expression.ts';
import { ExpressionBudget } from './expression-budget.ts';
import type { NamePattern } from './name-pattern.ts';

const HALF = MOST_PER_NAMESPACE / 2;

const expression = (text: string, size = HALF): NamePattern => ({
  ...{ text, size, expression: text, literal: undefined },
  matches: () => false,
});

test('the first ones keep their share; the room of one that leaves is free again', () => {
  const budget = new ExpressionBudget();
  expect(budget.hold('shop', 'web', [expression('a')])).toEqual(new Set());
  expect(budget.hold('shop', 'api', [expression('b')])).toEqual(new Set());
  expect(budget.hold('shop', 'job', [expression('c'), expression('d', 1)])).toEqual(new Set(['c', 'd']));
  expect(budget.hold('blog', 'job', [expression('c')])).toEqual(new Set());
  budget.release('shop', 'web');
  expect(budget.hold('shop', 'job', [expression('c'), expression('d', 1)])).toEqual(new Set(['d']));
});

test('an expression that several have counts once, until the last one leaves', () => {
  const budget = new ExpressionBudget();
  for (let n = 0; n < 100; n += 1) expect(budget.hold('shop', `web-${n}`, [expression('a')])).toEqual(new Set());
  expect(budget.sizeOf('shop')).toBe(HALF);
  for (let n = 0; n < 100; n += 1) budget.release('shop', `web-${n}`);
  expect(budget.sizeOf('shop')).toBe(0);
});

test('names take no share', () => {
  const budget = new ExpressionBudget();
  budget.hold('shop', 'web', [{ ...expression('a', 0), expression: undefined, literal: 'a' }]);
  expect(budget.sizeOf('shop')).toBe(0);
});

test('whoever comes and goes, the share is that of those who are there', () => {
  const step = fc.record({
    holder: fc.constantFrom('web', 'api', 'job'),
    texts: fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 4 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
      const budget = new ExpressionBudget();
      const held = new Map<string, readonly string[]>();
      for (const { holder, texts } of steps) {
        const refused = budget.hold(
          'shop',
          holder,
          texts.map((text) => expression(text)),
        );
        held.set(
          holder,
          texts.filter((text) => !refused.has(text)),
        );
        expect(budget.sizeOf('shop')).toBe(new Set([...held.values()].flat()).size * HALF);
        expect(budget.sizeOf('shop')).toBeLessThanOrEqual(MOST_PER_NAMESPACE);
      }
      for (const holder of held.keys()) budget.release('shop', holder);
      expect(budget.sizeOf('shop')).toBe(0);
    }),
  );
});
