import fc from 'fast-check';
import { expect, test } from 'vitest';
import { applyPatch } from '../../../test/conformance/apply-patch.ts';
import { objectOf, parse, rowOf } from '../../../test/conformance/given.ts';
import { markOf, rulesOf, source } from '../../../test/support/engine-world.ts';
import { change, verdict } from '../../../test/support/telling-world.ts';
import { CONFIG_HASH, DEFAULT_KEYS, LAST_RELOADED_FROM } from '../../api/annotations.ts';
import { objectAt } from '../../api/json.ts';
import type { KubeObject } from '../../api/objects.ts';
import { SourceHistory } from '../../model/sources/source-history.ts';
import type { Strategy } from '../asks/ask.ts';
import type { SourceId } from '../ledger/source-id.ts';
import type { Change } from '../outcome/change.ts';
import { patchOf } from '../template/patch.ts';
import { editTemplate } from '../template/template-edit.ts';
import { OwnMarks } from './own-marks.ts';

/** A workload that uses these ConfigMaps, and writes of ours to it as reconcile makes them. */
function template(...names: readonly string[]) {
  const envFrom = names.map((name) => ({ configMapRef: { name } }));
  let object: KubeObject = objectOf({ pod: { containers: [{ name: 'app', envFrom }] } });
  let version = 5;
  const sources = new SourceHistory();
  const marks = new OwnMarks();
  const lost = (): readonly SourceId[] => [...marks.takeLost(parse('Deployment', object), rulesOf(sources)).keys()];

  const due = (name: string, strategy: Strategy, data: string): Change => {
    version += 1;
    const about = { ...change(name), current: data, mark: markOf(data), verdict: { ...verdict, strategy } };
    sources.put(source(data, version, about.ref), false);
    return about;
  };
  return {
    lost,
    write(second: number, ...wanted: readonly (readonly [name: string, strategy: Strategy, data: string])[]) {
      const changes = wanted.map(([name, strategy, data]) => due(name, strategy, data));
      const workload = parse('Deployment', object);
      const isHashed = changes.some(({ verdict: { strategy } }) => strategy === 'config-hash');
      const edit = editTemplate(
        workload,
        changes.flatMap(({ ref, mark = '', verdict: { strategy, container } }) =>
          strategy === 'config-hash' ? [] : [{ ref, mark, strategy, container }],
        ),
        {
          ...{ compat: false, observedAt: second, usedOrNamed: () => true, nudge: `n-${version}` },
          configHash: isHashed ? `hash ${version}` : undefined,
        },
      );
      if (!edit) throw new Error('nothing to write');
      const patch = patchOf(rowOf('Deployment'), workload, edit, { keys: DEFAULT_KEYS });
      object = applyPatch(object, patch) as KubeObject;
      marks.wrote({ changes, edit, second, hashBefore: workload.templateAnnotations[CONFIG_HASH] }, 'shop');
    },
    /** Another writer takes these away: variables and annotations by name. */
    strip(...places: readonly string[]) {
      object = structuredClone(object);
      const { annotations = {} } = objectAt(object, ['spec', 'template', 'metadata']) as { annotations?: object };
      const [container] = objectAt(object, ['spec', 'template', 'spec'])['containers'] as [
        { env?: { name: string }[] },
      ];
      for (const place of places) delete (annotations as Record<string, unknown>)[place];
      container.env = container.env?.filter(({ name }) => !places.includes(name)) ?? [];
    },
  };
}

const X = 'ConfigMap/x';
const Y = 'ConfigMap/y';

test.each([
  ['annotations', 'env-vars'],
  ['env-vars', 'annotations'],
  ['config-hash', 'annotations'],
  ['config-hash', 'env-vars'],
  ['annotations', 'config-hash'],
  ['env-vars', 'config-hash'],
] as const)('%s for one source, then %s for another: both marks are ours, and both are there', (first, second) => {
  const web = template('x', 'y');
  web.write(10, ['x', first, 'B']);
  web.write(20, ['y', second, 'B']);
  expect(web.lost()).toEqual([]);
});

test.each([
  ['STAKATER_Y_CONFIGMAP', [Y]],
  [LAST_RELOADED_FROM, [X]],
  [CONFIG_HASH, ['ConfigMap/z']],
])('of three marks with three strategies another writer takes %s away', (place, ids) => {
  const web = template('x', 'y', 'z');
  web.write(10, ['x', 'annotations', 'B'], ['y', 'env-vars', 'B'], ['z', 'config-hash', 'B']);
  expect(web.lost()).toEqual([]);
  web.strip(place);
  expect(web.lost()).toEqual(ids);
  expect(web.lost()).toEqual([]);
});

test('the second of an annotation is its own, whatever was written later with another strategy', () => {
  const web = template('x', 'y');
  web.write(10, ['x', 'annotations', 'B']);
  web.write(20, ['y', 'env-vars', 'B']);
  web.strip(LAST_RELOADED_FROM);
  expect(web.lost()).toEqual([X]);
});

test('a source that is asked for with another strategy has one mark: the last', () => {
  const web = template('x', 'y');
  web.write(10, ['x', 'env-vars', 'B']);
  web.write(20, ['x', 'annotations', 'C']);
  web.strip('STAKATER_X_CONFIGMAP');
  expect(web.lost()).toEqual([]);
  web.strip(LAST_RELOADED_FROM);
  expect(web.lost()).toEqual([X]);
});

test('whatever we write after one another, with whatever strategies, nobody took anything away', () => {
  const strategy = fc.constantFrom<Strategy>('env-vars', 'annotations', 'config-hash');
  const one = fc.tuple(fc.constantFrom('x', 'y', 'a-b', 'a.b'), strategy, fc.constantFrom('A', 'B', 'C'));
  const write = fc.record({
    seconds: fc.constantFrom(0, 1, 60),
    changes: fc.uniqueArray(one, { minLength: 1, maxLength: 3, selector: ([name]) => name }),
  });
  fc.assert(
    fc.property(fc.array(write, { minLength: 1, maxLength: 8 }), (writes) => {
      const web = template('x', 'y', 'a-b', 'a.b');
      let second = 100;
      for (const { seconds, changes } of writes) {
        second += seconds;
        web.write(second, ...changes);
        expect(web.lost()).toEqual([]);
      }
    }),
  );
});
