import { expect, test } from 'vitest';
import { fenceOf } from './fence.ts';

test.each([
  [undefined, 'free'],
  ['', 'free'],
  ['[]', 'free'],
  ['null', 'free'],
  ['["redis-1"]', 'free'],
  ['["redis-0"]', 'fenced'],
  ['["redis-1","redis-0"]', 'fenced'],
  ['["*"]', 'fenced'],
  ['["redis-00"]', 'free'],
  ['redis-0', 'unreadable'],
  ['"redis-0"', 'unreadable'],
  ['["redis-0"', 'unreadable'],
  ['[1]', 'unreadable'],
  ['{"redis-0":true}', 'unreadable'],
] as const)('F1 F5 %j: %s', (annotation, fence) => {
  expect(fenceOf(annotation, 'redis-0')).toBe(fence);
});
