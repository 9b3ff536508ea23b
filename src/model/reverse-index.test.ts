import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { SourceRef } from '../api/sources.ts';
import { type NamePattern, patternsIn } from '../domain/asks/name-pattern.ts';
import type { WorkloadKey } from '../domain/workload/workload.ts';
import { type Interest, ReverseIndex } from './reverse-index.ts';

const patternOf = (text: string): NamePattern => patternsIn(text, () => {})[0] as NamePattern;
const NAMES = ['app', 'app-1', 'app-2', 'db', 'x'];
const NAMESPACES = ['shop', 'blog'];
const kind = fc.constantFrom('ConfigMap' as const, 'Secret' as const);
const interest = fc.record({
  literal: fc.uniqueArray(fc.record({ kind, name: fc.constantFrom(...NAMES) }), {
    selector: (each) => `${each.kind}/${each.name}`,
  }),
  patterns: fc.array(fc.record({ kind, pattern: fc.constantFrom('app-.*', '.*b', 'x').map(patternOf) }), {
    maxLength: 2,
  }),
});
const step = fc.record({
  key: fc.constantFrom('web', 'api', 'job').map((name): WorkloadKey => `Deployment/shop/${name}`),
  namespace: fc.constantFrom(...NAMESPACES),
  interest: fc.option(interest, { nil: undefined }),
});

type LocalInterest = NonNullable<(typeof step extends fc.Arbitrary<infer Step> ? Step : never)['interest']>;

const inNamespace = (namespace: string, { literal, patterns }: LocalInterest): Interest => ({
  literal: literal.map((each) => ({ ...each, namespace })),
  patterns: patterns.map((each) => ({ ...each, namespace })),
});

test('the index finds exactly those whom trying everybody would find', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
      const index = new ReverseIndex();
      const model = new Map<WorkloadKey, (typeof steps)[number]>();
      for (const each of steps) {
        if (each.interest) {
          index.set(each.key, inNamespace(each.namespace, each.interest));
          model.set(each.key, each);
        } else {
          index.remove(each.key);
          model.delete(each.key);
        }
      }
      for (const namespace of NAMESPACES) {
        for (const name of NAMES) {
          const ref: SourceRef = { kind: 'ConfigMap', namespace, name };
          const expected = [...model.values()].filter(
            (each) =>
              each.namespace === namespace &&
              (each.interest?.literal.some((one) => one.kind === ref.kind && one.name === name) ||
                each.interest?.patterns.some((one) => one.kind === ref.kind && one.pattern.matches(name))),
          );
          expect([...index.dependents(ref)].sort()).toEqual(expected.map(({ key }) => key).sort());
          expect(index.isWanted(ref)).toBe(expected.length > 0);
        }
      }
    }),
  );
});

test('an expression that a thousand workloads have is tried once for a source, and no expression of another namespace is', () => {
  const index = new ReverseIndex();
  let tried = 0;
  const counting = (text: string): NamePattern => ({
    ...patternOf(text),
    matches: (name) => {
      tried += 1;
      return patternOf(text).matches(name);
    },
  });
  for (let n = 0; n < 1000; n += 1) {
    for (const namespace of ['shop', 'blog']) {
      const patterns = ['a.*', 'b.*'].map((text) => ({
        kind: 'ConfigMap' as const,
        namespace,
        pattern: counting(text),
      }));
      index.set(`Deployment/${namespace}/web-${n}`, { literal: [], patterns });
    }
  }
  expect([...index.dependents({ kind: 'ConfigMap', namespace: 'shop', name: 'app' })]).toHaveLength(1000);
  expect(tried).toBe(2);
  index.set('Deployment/shop/web-0', { literal: [], patterns: [] });
  expect([...index.dependents({ kind: 'ConfigMap', namespace: 'shop', name: 'app' })]).toHaveLength(999);
});
