import { describe, expect, test } from 'vitest';
import type { Selector } from '../../domain/text/selector.ts';
import { Consents } from './consents.ts';

const NAME = 'kubernetes.io/metadata.name';
const byName = (operator: 'in' | 'notin', ...values: readonly string[]) => ({ key: NAME, operator, values }) as const;

describe('where Namespaces are not read', () => {
  const consents = new Consents(new Map([['edge', new Set(['shop'])]]));

  test.each<[string, Selector, boolean]>([
    ['all', [], true],
    ['its name', [byName('in', 'edge', 'else')], true],
    ['another name', [byName('in', 'else')], false],
    ['all but its name', [byName('notin', 'edge')], false],
    ['other labels', [{ key: 'stage', operator: 'in', values: ['live'] }], false],
    ['its name and that a label is not there', [byName('in', 'edge'), { key: 'a', operator: '!', values: [] }], false],
  ])('the flag allows sources of which the name alone is known: %s', (_, selector, isSource) => {
    expect(consents.sourceNamespaces('shop', selector)).toEqual(isSource ? ['shop', 'edge'] : ['shop']);
    expect(consents.isSource('edge', 'shop', selector)).toBe(isSource);
  });

  test('without a selector, or for others than the flag names, nothing', () => {
    expect(consents.sourceNamespaces('shop', undefined)).toEqual(['shop']);
    expect(consents.sourceNamespaces('else', [])).toEqual(['else']);
    expect(consents.isSource('unknown', 'shop', [])).toBe(false);
  });
});

test('where they are, the labels of those that the flag names count', () => {
  const consents = new Consents(new Map([['edge', new Set(['shop'])]]));
  consents.seen('edge', { labels: { stage: 'live' }, allowsFrom: new Set() });
  const stage = (value: string): Selector => [{ key: 'stage', operator: 'in', values: [value] }];
  expect(consents.sourceNamespaces('shop', stage('live'))).toEqual(['shop', 'edge']);
  expect(consents.sourceNamespaces('shop', stage('test'))).toEqual(['shop']);
});
