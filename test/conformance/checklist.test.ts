import { describe, expect, test } from 'vitest';
import { DEFAULT_KEYS } from '../../src/api/annotations.ts';
import { listIn, objectAt, objectIn } from '../../src/api/json.ts';
import { type KindName, WORKLOAD_KINDS } from '../../src/api/kinds.ts';
import type { KubeObject } from '../../src/api/objects.ts';
import type { SourceKind } from '../../src/api/sources.ts';
import { parseSettings } from '../../src/config/parse-settings.ts';
import type { StakaterStrategy } from '../../src/domain/asks/ask.ts';
import { actionFor } from '../../src/domain/judge/effect.ts';
import { judge } from '../../src/domain/judge/judge.ts';
import { compare, type Difference } from '../../src/domain/ledger/applied.ts';
import { pauseStep } from '../../src/domain/plan/pause.ts';
import { DELETE_MARK, piecesOf } from '../../src/domain/source/fingerprint.ts';
import { jobFromCronJob, replacementJob } from '../../src/domain/template/job.ts';
import { parseLastReloadedFrom, variableName } from '../../src/domain/template/marks.ts';
import { patchOf } from '../../src/domain/template/patch.ts';
import { editTemplate, type TemplateEdit } from '../../src/domain/template/template-edit.ts';
import { formatTime } from '../../src/domain/text/rfc3339.ts';
import type { Workload } from '../../src/domain/workload/workload.ts';
import { applyPatch } from './apply-patch.ts';
import { digest, type Given, HASH_A, HASH_B, objectOf, parse, podUsing, policyOf, rowOf, workloadOf } from './given.ts';

/*
 * The tester's checklist by its own numbers, as far as it can be decided without a server. Literally under compat; by
 * default where we promise more. The tables of number 1 have files of their own beside this one. 10, 11, 12 and 14 are
 * about watches, requests and leases: see the end-to-end tests.
 */

const AUTO = { [DEFAULT_KEYS.auto]: 'true' };
const foo = { kind: 'ConfigMap', namespace: 'shop', name: 'foo' } as const;
const source = { ref: foo, ignored: false, matchable: false };

function edit(
  workload: Workload,
  mark: string,
  how: { compat?: boolean; strategy?: StakaterStrategy; kind?: SourceKind } = {},
) {
  const { compat = true, strategy = 'env-vars', kind = 'ConfigMap' } = how;
  const ref = { ...foo, kind };
  const verdict = judge(workload, { ...source, ref }, policyOf({ compat }));
  if (!verdict.reload) return undefined;
  return editTemplate(workload, [{ ref, container: verdict.container, mark, strategy }], {
    compat,
    observedAt: 1,
    usedOrNamed: () => true,
    nudge: 'n',
  });
}

/** What the kind's effect makes of an edit: the pod template that new pods start from. */
function templateAfter(kind: KindName, object: KubeObject, workload: Workload, change: TemplateEdit) {
  const row = rowOf(kind);
  if (row.effect === 'run') return objectAt(jobFromCronJob(object, change, {}), ['spec', 'template']);
  if (row.effect === 'replace') return objectAt(replacementJob(object, change), ['spec', 'template']);
  return objectAt(applyPatch(object, patchOf(row, workload, change, { keys: DEFAULT_KEYS })), row.templatePath);
}

describe('2. kinds x sources x ways of reference x annotations x strategies', () => {
  const mount = { volumeMounts: [{ name: 'v', mountPath: '/v' }] };
  const app = { name: 'app' };
  const refs = {
    ConfigMap: {
      envFrom: { configMapRef: { name: 'foo' } },
      valueFrom: { configMapKeyRef: { name: 'foo', key: 'k' } },
      volume: { configMap: { name: 'foo' } },
      projected: { configMap: { name: 'foo' } },
    },
    Secret: {
      envFrom: { secretRef: { name: 'foo' } },
      valueFrom: { secretKeyRef: { name: 'foo', key: 'k' } },
      volume: { secret: { secretName: 'foo' } },
      projected: { secret: { name: 'foo' } },
    },
  };
  const podsFor = (kind: 'ConfigMap' | 'Secret') => {
    const { envFrom, valueFrom, volume, projected } = refs[kind];
    const volumes = [{ name: 'v', ...volume }];
    const mixed = [{ configMap: { name: 'x' } }, { secret: { name: 'x' } }, projected];
    return {
      envFrom: { containers: [{ ...app, envFrom: [envFrom] }] },
      valueFrom: { containers: [{ ...app, env: [{ name: 'K', valueFrom }] }] },
      volume: { containers: [{ ...app, ...mount }], volumes },
      projected: { containers: [{ ...app, ...mount }], volumes: [{ name: 'v', projected: { sources: [projected] } }] },
      'projected mixed': {
        containers: [{ ...app, ...mount }],
        volumes: [{ name: 'v', projected: { sources: mixed } }],
      },
      'init envFrom': { containers: [app], initContainers: [{ name: 'init', envFrom: [envFrom] }] },
      'init volume': { containers: [app], initContainers: [{ name: 'init', ...mount }], volumes },
    };
  };

  const cases = WORKLOAD_KINDS.flatMap(({ kind }) =>
    (['ConfigMap', 'Secret'] as const).flatMap((of) =>
      Object.entries(podsFor(of)).flatMap(([way, pod]) =>
        [AUTO, { [DEFAULT_KEYS.named[of]]: 'foo' }].flatMap((metadata) =>
          (['env-vars', 'annotations'] as const).map((strategy) => ({
            title: `${kind}, ${of} by ${way}, ${Object.keys(metadata)}, ${strategy}`,
            of,
            strategy,
            given: { kind, metadata, pod },
          })),
        ),
      ),
    ),
  );

  test.each(cases)('$title', ({ of, strategy, given }) => {
    for (const compat of [true, false]) {
      const object = objectOf(given);
      const workload = parse(given.kind, object, compat);
      const change = edit(workload, HASH_A, { compat, strategy, kind: of });
      if (change === undefined) throw new Error('no reload');
      const template = templateAfter(given.kind, object, workload, change);
      if (strategy === 'env-vars') {
        const env = listIn(objectIn(listIn(objectIn(template['spec'])['containers'])[0])['env']);
        expect(env).toContainEqual({ name: variableName(of, 'foo'), value: HASH_A });
        expect(env.filter((entry) => objectIn(entry)['name'] === variableName(of, 'foo'))).toHaveLength(1);
      } else {
        const text = objectAt(template, ['metadata', 'annotations'])['reloader.stakater.com/last-reloaded-from'];
        expect(parseLastReloadedFrom(String(text))).toMatchObject({
          name: 'foo',
          hash: HASH_A,
          containerRefs: ['app'],
        });
      }
    }
  });
});

describe('3. what is no change', () => {
  const of = { kind: 'ConfigMap', namespace: 'shop', name: 'foo' } as const;
  const print = (object: unknown) => digest.fingerprint(of, piecesOf('ConfigMap', object));

  test('metadata alone, or the same data again', () => {
    const before = print({ metadata: { labels: { a: '1' } }, data: { k: 'v' } });
    expect(print({ metadata: { labels: { a: '2' }, annotations: {} }, immutable: true, data: { k: 'v' } })).toEqual(
      before,
    );
  });

  test('data moved to binaryData with the same hash: upstream does nothing, we roll', () => {
    const text = print({ data: { x: 'dGVzdA==' } });
    const binary = print({ binaryData: { x: 'dGVzdA==' } });
    expect(binary.mark).toBe(text.mark);
    expect(binary.exact).not.toBe(text.exact);
    const env = [{ name: 'STAKATER_FOO_CONFIGMAP', value: text.mark }];
    const pod = { containers: [{ name: 'app', env, envFrom: [{ configMapRef: { name: 'foo' } }] }] };
    expect(edit(workloadOf({ metadata: AUTO, pod }), binary.mark, { compat: true })).toBeUndefined();
    expect(edit(workloadOf({ metadata: AUTO, pod }), binary.mark, { compat: false })).toBeDefined();
  });
});

test('4. A to B to A rolls twice with env-vars; the same value delivered again does not', () => {
  const start = objectOf({ metadata: AUTO, pod: podUsing('ConfigMap', 'foo') });
  const roll = (object: KubeObject, mark: string): KubeObject | undefined => {
    const workload = parse('Deployment', object, true);
    const change = edit(workload, mark);
    if (change === undefined) return undefined;
    return applyPatch(object, patchOf(rowOf('Deployment'), workload, change, { keys: DEFAULT_KEYS })) as KubeObject;
  };
  const a = roll(start, HASH_A) ?? start;
  const b = roll(a, HASH_B) ?? start;
  expect(roll(b, HASH_B)).toBeUndefined();
  const c = roll(b, HASH_A);
  expect(c && parse('Deployment', c).fullTemplateDigest).toBe(parse('Deployment', a).fullTemplateDigest);
});

describe('5. the container', () => {
  const using = { envFrom: [{ configMapRef: { name: 'foo' } }] };
  const volumes = [{ name: 'v', configMap: { name: 'foo' } }];
  const chosen = (metadata: Given['metadata'], pod: Given['pod'] = {}) => {
    const verdict = judge(workloadOf({ metadata, pod }), source, policyOf({ compat: true }));
    return verdict.reload ? verdict.container : undefined;
  };

  test('two containers use it: only the first', () => {
    expect(
      chosen(AUTO, {
        containers: [
          { name: 'a', ...using },
          { name: 'b', ...using },
        ],
      }),
    ).toBe(0);
  });

  test('volume in the second, env in the first: the second', () => {
    const second = { name: 'b', volumeMounts: [{ name: 'v' }] };
    expect(chosen(AUTO, { containers: [{ name: 'a', ...using }, second], volumes })).toBe(1);
  });

  test('volume not mounted: nothing with auto, the first if named', () => {
    const pod = { containers: [{ name: 'a' }, { name: 'b' }], volumes };
    expect(chosen(AUTO, pod)).toBeUndefined();
    expect(chosen({ [DEFAULT_KEYS.named.ConfigMap]: 'foo' }, pod)).toBe(0);
  });
});

describe('6. CronJob and Job', () => {
  const pod = podUsing('ConfigMap', 'foo');
  const act = (given: Given, compat: boolean, status: unknown = {}) => {
    const kind = given.kind ?? 'Job';
    const workload = parse(kind, { ...objectOf(given), status } as KubeObject, compat);
    const policy = policyOf({ compat });
    return actionFor(rowOf(kind), workload, [judge(workload, source, policy)], policy);
  };

  test('a suspended CronJob still starts a Job under compat, and none by default', () => {
    const given: Given = { kind: 'CronJob', metadata: AUTO, pod, spec: { suspend: true } };
    expect([act(given, true), act(given, false)]).toEqual(['run', 'none']);
  });

  test('a completed Job runs again under compat; by default only if its own metadata asks', () => {
    const done = { conditions: [{ type: 'Complete', status: 'True' }] };
    expect(act({ kind: 'Job', template: AUTO, pod }, true, done)).toBe('replace');
    expect(act({ kind: 'Job', template: AUTO, pod }, false, done)).toBe('none');
    expect(act({ kind: 'Job', metadata: AUTO, pod }, false, done)).toBe('replace');
  });

  test('kinds can be ignored', () => {
    const policy = policyOf({ compat: true, ignoredKinds: new Set(['Job']) });
    expect(judge(workloadOf({ kind: 'Job', metadata: AUTO, pod }), source, policy).reload).toBe(false);
    expect(judge(workloadOf({ kind: 'CronJob', metadata: AUTO, pod }), source, policy).reload).toBe(true);
  });
});

describe('7. Rollout', () => {
  const pod = podUsing('ConfigMap', 'foo');

  test('restart touches restartAt alone', () => {
    const metadata = { ...AUTO, 'reloader.stakater.com/rollout-strategy': 'restart' };
    const object = objectOf({ kind: 'Rollout', metadata, pod });
    const workload = parse('Rollout', object, true);
    expect(actionFor(rowOf('Rollout'), workload, [], policyOf({ compat: true }))).toBe('restart');
    const extra = { keys: DEFAULT_KEYS, restartAt: formatTime(1_767_225_600) };
    expect(applyPatch(object, patchOf(rowOf('Rollout'), workload, undefined, extra))).toEqual({
      ...object,
      spec: { ...objectAt(object, ['spec']), restartAt: '2026-01-01T00:00:00Z' },
    });
  });

  test('workloadRef: there is no template to touch', () => {
    const workload = workloadOf({
      kind: 'Rollout',
      metadata: AUTO,
      pod: {},
      spec: { workloadRef: { kind: 'Deployment', name: 'x' } },
    });
    expect(judge(workload, source, policyOf({ compat: true })).reload).toBe(false);
  });
});

describe('8. create and delete', () => {
  const lifecycle = (reloadOnCreate: boolean, reloadOnDelete: boolean, compat = true) => ({
    compat,
    reloadOnCreate,
    reloadOnDelete,
  });

  test.each<[string, string, string, ReturnType<typeof lifecycle>, Difference]>([
    ['created, not asked for', '-', 'v1', lifecycle(false, false), 'settle'],
    ['created', '-', 'v1', lifecycle(true, false), 'created'],
    ['deleted, not asked for', 'v1', '-', lifecycle(false, false), 'settle'],
    ['deleted, not asked for, by default', 'v1', '-', lifecycle(false, false, false), 'keep'],
    ['deleted', 'v1', '-', lifecycle(false, true), 'deleted'],
    ['changed', 'v1', 'v2', lifecycle(false, false), 'changed'],
    ['the same', 'v1', 'v1', lifecycle(true, true), 'same'],
  ])('%s', (...row) => {
    const [, applied, current, flags, expected] = row;
    expect(compare(applied, current, flags)).toBe(expected);
  });

  test('env-vars: the variable goes, and nothing happens where there is none', () => {
    const used = { envFrom: [{ configMapRef: { name: 'foo' } }] };
    const env = [{ name: 'STAKATER_FOO_CONFIGMAP', value: HASH_A }];
    const marked = workloadOf({ metadata: AUTO, pod: { containers: [{ name: 'app', ...used, env }] } });
    expect(edit(marked, 'deleted')?.env).toMatchObject([
      { variable: 'STAKATER_FOO_CONFIGMAP', value: undefined, index: 0 },
    ]);
    expect(
      edit(workloadOf({ metadata: AUTO, pod: { containers: [{ name: 'app', ...used }] } }), 'deleted'),
    ).toBeUndefined();
  });

  test('annotations: the delete marker', () => {
    const change = edit(workloadOf({ metadata: AUTO, pod: podUsing('ConfigMap', 'foo') }), 'deleted', {
      strategy: 'annotations',
    });
    expect(JSON.stringify(change?.annotations)).toContain(DELETE_MARK);
  });
});

test("9. a pause: the first change begins it, further ones gather, it ends once; a user's own is left alone", () => {
  const now = 1_767_225_600_000;
  const pausedAt = formatTime(now / 1000);
  const periodMs = 60_000;
  expect(pauseStep({ paused: false, pausedAt: undefined, periodMs }, now)).toEqual({
    do: 'pause',
    untilMs: now + periodMs,
  });
  expect(pauseStep({ paused: true, pausedAt, periodMs }, now + 30_000)).toEqual({
    do: 'hold',
    untilMs: now + periodMs,
  });
  expect(pauseStep({ paused: true, pausedAt, periodMs }, now + periodMs)).toEqual({ do: 'resume' });
  expect(pauseStep({ paused: true, pausedAt: undefined, periodMs }, now)).toEqual({ do: 'none' });
});

describe('13. flags', () => {
  const parsed = (...argv: readonly string[]) => parseSettings(['--compat=stakater', ...argv], {});

  test('refused: an unknown strategy, HA without a pod name, both resources ignored', () => {
    expect(parsed('--reload-strategy=restart').ok).toBe(false);
    expect(parsed('--enable-ha').ok).toBe(false);
    expect(parsed('--resources-to-ignore=configmaps,secrets').ok).toBe(false);
  });

  test('tolerated: a workload type that does not exist empties the list', () => {
    const result = parsed('--ignored-workload-types=jobs,pods');
    expect(result.ok && result.settings.ignoredKinds.size).toBe(0);
  });

  test('without effect: --reload-on-create=True', () => {
    const result = parsed('--reload-on-create=True');
    expect(result.ok && result.settings.reloadOnCreate).toBe(false);
  });
});
