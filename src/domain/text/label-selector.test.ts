import { describe, expect, test } from 'vitest';
import { stepsOf } from '../../../test/support/steps.ts';
import { NOTHING, parseLabelSelector, parseLabels, type SelectorProblem } from './label-selector.ts';
import { matches, type Selector } from './selector.ts';

const numbered = (count: number): readonly string[] => Array.from({ length: count }, (_, n) => `k${n}`);
const labels = (count: number) => Object.fromEntries(numbered(count).map((key) => [key, 'v']));
const absent = (count: number) => numbered(count).map((key) => ({ key, operator: 'DoesNotExist' }));

function parse(value: unknown): { selector: Selector | undefined; told: SelectorProblem[] } {
  const told: SelectorProblem[] = [];
  const selector = parseLabelSelector(value, 'spec.selector', (problem) => told.push(problem));
  return { selector, told };
}

describe('limits', () => {
  test('of requirements', () => {
    expect(parse({ matchLabels: labels(50), matchExpressions: absent(50) }).selector).toHaveLength(100);
    expect(parse({ matchLabels: labels(50), matchExpressions: absent(51) })).toEqual({
      selector: undefined,
      told: [{ path: 'spec.selector', message: 'may have at most 100 requirements, not 101' }],
    });
  });

  test('of values', () => {
    const selecting = (count: number) => ({
      matchExpressions: [{ key: 'a', operator: 'In', values: numbered(count) }],
    });
    expect(parse(selecting(1000)).selector).toHaveLength(1);
    expect(parse(selecting(1001))).toEqual({
      selector: undefined,
      told: [{ path: 'spec.selector', message: 'may have at most 1,000 values, not 1001' }],
    });
  });

  test('labels that are too many match nothing', () => {
    const told: SelectorProblem[] = [];
    expect(parseLabels(labels(101), 'spec.matchLabels', (problem) => told.push(problem))).toBe(NOTHING);
    expect(told).toHaveLength(1);
  });
});

test('the same labels are compared once, and others again', () => {
  const { selector = [] } = parse({ matchExpressions: absent(100) });
  const [some, others] = [{ app: 'web' }, { k7: '' }];
  expect(stepsOf(() => matches(selector, some))).toBe(100);
  expect(stepsOf(() => matches(selector, some))).toBe(0);
  expect([matches(selector, others), matches(selector, some), matches(selector, others)]).toEqual([false, true, false]);
});
