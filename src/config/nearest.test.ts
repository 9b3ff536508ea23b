import { expect, test } from 'vitest';
import { nearest } from './nearest.ts';

test.each([
  ['is-argo-rollouts', 'is-Argo-Rollouts'],
  ['lgo-level', 'log-level'],
  ['log_level', 'log-level'],
  ['LOG-LEVEL', 'log-level'],
  ['namespace', 'namespaces'],
  ['something-else-entirely', undefined],
  ['x', undefined],
  ['', undefined],
])('%j probably means %j', (word, meant) => {
  expect(nearest(word, ['is-Argo-Rollouts', 'log-level', 'log-format', 'namespaces'])).toBe(meant);
});
