import { expect, test } from 'vitest';
import { KnownAnswers } from './known-answers.ts';

test('however many names and expressions there are, each answer is right, and soon asked again only where it was forgotten', () => {
  const answers = new KnownAnswers();
  let asked = 0;
  const isEven = (expression: number, name: number): boolean =>
    answers.answer(`${expression}`, `${name}`, () => {
      asked += 1;
      return (expression + name) % 2 === 0;
    });
  for (let name = 0; name < 10_000; name += 1) {
    for (const expression of [1, 2]) expect(isEven(expression, name)).toBe((expression + name) % 2 === 0);
  }
  expect(asked).toBe(20_000);
  for (const expression of [1, 2]) expect(isEven(expression, 9999)).toBe((expression + 9999) % 2 === 0);
  expect(asked).toBe(20_000);
  for (let expression = 0; expression < 10_000; expression += 1) {
    expect(isEven(expression, 9999)).toBe((expression + 9999) % 2 === 0);
  }
  expect(isEven(1, 1)).toBe(true);
});
