import fc from 'fast-check';
import { expect, test } from 'vitest';
import { applyPatch } from '../../../test/conformance/apply-patch.ts';
import { digest, HASH_A, HASH_B, objectOf, parse, rowOf } from '../../../test/conformance/given.ts';
import { DEFAULT_KEYS } from '../../api/annotations.ts';
import { canonicalText, objectAt } from '../../api/json.ts';
import type { KindName } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/objects.ts';
import { applyEdit } from './job.ts';
import { patchOf } from './patch.ts';
import { digestAfter } from './template-digest.ts';
import { editTemplate } from './template-edit.ts';

const mark = fc.constantFrom(HASH_A, HASH_B);
const names = fc.constantFrom('foo', 'bar', 'a-b', 'a.b');
const variable = fc.record({
  name: fc.constantFrom('X', 'STAKATER_FOO_CONFIGMAP', 'STAKATER_A_B_CONFIGMAP', 'STAKATER_OLD_SECRET'),
  value: fc.oneof(mark, fc.constant('mine')),
});
const env = fc.option(fc.uniqueArray(variable, { selector: ({ name }) => name }), { nil: undefined });
const template = fc.option(fc.constantFrom({}, { own: 'x' }, { 'attune.dev/nudge': 'old' }), { nil: undefined });
const change = fc.record({
  ref: names.map((name) => ({ kind: 'ConfigMap' as const, namespace: 'shop', name })),
  container: fc.constantFrom(0, 1),
  mark: fc.oneof(mark, fc.constant('deleted')),
  strategy: fc.constantFrom('env-vars' as const, 'annotations' as const),
});
const situation = fc.record({
  containers: fc.tuple(env, env),
  template,
  metadata: fc.option(fc.constant({ own: 'x' }), { nil: undefined }),
  changes: fc.array(change, { maxLength: 4 }),
  compat: fc.boolean(),
});
type Situation = typeof situation extends fc.Arbitrary<infer T> ? T : never;

function edited(kind: KindName, { containers, changes, compat, ...given }: Situation) {
  const pod = { containers: containers.map((list, index) => ({ name: `c${index}`, ...(list ? { env: list } : {}) })) };
  const object = objectOf({ kind, pod, template: given.template, metadata: given.metadata });
  const options = {
    compat,
    observedAt: 1,
    usedOrNamed: (name: string) => name !== 'STAKATER_OLD_SECRET',
    nudge: 'new',
  };
  const workload = parse(kind, object, compat);
  const edit = editTemplate(workload, changes, options);
  const after = (patched: unknown) => editTemplate(parse(kind, patched as KubeObject, compat), changes, options);
  return { object, workload, edit, after };
}

/** New variables come first or last: the server and we differ, and it makes no difference. */
const sorted = (value: unknown): string =>
  canonicalText(value).replace(/3'env\[[^\]]*\]/g, (text) => [...text].sort().join(''));

test('strategic merge, JSON Patch and an edit in memory make the same template', () => {
  fc.assert(
    fc.property(situation, (given) => {
      const deployment = edited('Deployment', given);
      const rollout = edited('Rollout', given);
      if (deployment.edit === undefined) {
        expect(rollout.edit).toBeUndefined();
        return;
      }
      const extra = { keys: DEFAULT_KEYS, record: 'r' };
      const ours = applyEdit(objectAt(deployment.object, ['spec', 'template']), deployment.edit);
      for (const [kind, made] of [
        ['Deployment', deployment],
        ['Rollout', rollout],
      ] as const) {
        const patched = applyPatch(made.object, patchOf(rowOf(kind), made.workload, made.edit, extra));
        expect(sorted(objectAt(patched, ['spec', 'template']))).toBe(sorted(ours));
        expect(objectAt(patched, ['metadata', 'annotations'])['attune.dev/record']).toBe('r');
      }
    }),
    { numRuns: 300 },
  );
});

test('an edit changes the template and nothing beside marks; carried out, it is done', () => {
  fc.assert(
    fc.property(situation, (given) => {
      const { object, workload, edit, after } = edited('Deployment', given);
      if (edit === undefined) return;
      const patched = applyPatch(object, patchOf(rowOf('Deployment'), workload, edit, { keys: DEFAULT_KEYS }));
      const result = parse('Deployment', patched as KubeObject, given.compat);
      expect(result.fullTemplateDigest).not.toBe(workload.fullTemplateDigest);
      if (!edit.env.some(({ variable: name }) => isForeign(given, name))) {
        expect(result.templateDigest).toBe(workload.templateDigest);
        expect(result.fullTemplateDigest).toBe(digestAfter(workload, edit, digest.text));
      }
      const again = after(patched);
      // By default a change that cannot be seen is nudged, and then it can be.
      if (given.compat) expect(again).toBeUndefined();
      else expect(again?.env ?? []).toEqual([]);
    }),
    { numRuns: 300 },
  );
});

/** A variable of that name which a user wrote is part of the user's template. */
function isForeign({ containers }: Situation, name: string): boolean {
  return containers.some((list) => list?.some((entry) => entry.name === name && entry.value === 'mine'));
}

test('by default every change changes the template', () => {
  fc.assert(
    fc.property(situation, (given) => {
      fc.pre(!given.compat && given.changes.length > 0);
      expect(edited('Deployment', given).edit).toBeDefined();
    }),
  );
});
