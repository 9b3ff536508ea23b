import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { stages } from './stages.ts';

interface Stage {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly resourceRef: { readonly kind: string };
    readonly selector: { readonly matchExpressions: readonly Expression[] };
  };
}
interface Expression {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

const parsed = () => parseAllDocuments(stages(['attune', 'reloader'])).map((document) => document.toJS() as Stage);

test('every stage of a pod leaves the images alone that run as processes', () => {
  const pods = parsed().filter(({ spec }) => spec.resourceRef.kind === 'Pod');
  expect(pods.length).toBeGreaterThan(0);
  for (const { spec } of pods) {
    const about = spec.selector.matchExpressions.filter(({ key }) => key.includes('.image'));
    expect(about).toMatchObject([{ operator: 'NotIn', values: ['attune', 'reloader'] }]);
  }
});

test('a pod without the label never completes', () => {
  const ending = parsed().filter(({ metadata }) => ['pod-succeed', 'pod-fail'].includes(metadata.name));
  expect(ending.length).toBe(2);
  for (const { spec } of ending) {
    const asks = spec.selector.matchExpressions.some(
      ({ key, operator }) => key.includes('complete') && operator === 'In',
    );
    expect(asks).toBe(true);
  }
});
