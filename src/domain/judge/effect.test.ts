import { expect, test } from 'vitest';
import { policyOf, workloadOf } from '../../../test/conformance/given.ts';
import { verdict } from '../../../test/support/telling-world.ts';
import { DEFAULT_KEYS } from '../../api/annotations.ts';
import { type KindName, kindNamed, type WorkloadKind } from '../../api/kinds.ts';
import type { RolloutStrategy } from '../asks/ask.ts';
import { parseWorkload } from '../workload/parse-workload.ts';
import { actionFor } from './effect.ts';
import { judge } from './judge.ts';

interface Given {
  readonly metadata?: Record<string, string>;
  readonly template?: Record<string, string>;
  readonly spec?: object;
  readonly status?: object;
  readonly owner?: string;
  readonly compat?: boolean;
  readonly all?: boolean;
}

function action(kindName: KindName, given: Given) {
  const { metadata = {}, template = {}, spec = {}, status = {}, owner, compat, all } = given;
  const kind = kindNamed(kindName) as WorkloadKind;
  const pod = {
    metadata: { annotations: template },
    spec: { containers: [{ name: 'app', envFrom: [{ configMapRef: { name: 'app' } }] }] },
  };
  const object = {
    metadata: {
      name: 'w',
      namespace: 'shop',
      uid: 'u',
      resourceVersion: '1',
      annotations: metadata,
      ...(owner && { ownerReferences: [{ kind: owner, name: 'o', controller: true }] }),
    },
    spec: { ...(kindName === 'CronJob' ? { jobTemplate: { spec: { template: pod } } } : { template: pod }), ...spec },
    status,
  };
  const options = { keys: DEFAULT_KEYS, compat: compat === true, sapCompat: false, digest: (text: string) => text };
  const workload = parseWorkload(kind, object, options);
  const policy = {
    compat: compat === true,
    sapCompat: false,
    autoReloadAll: all === true,
    ignoredKinds: new Set<string>(),
    keys: DEFAULT_KEYS,
    reloadStrategy: 'env-vars',
  } as const;
  const source = { ref: { kind: 'ConfigMap', name: 'app' } as const, ignored: false, matchable: false };
  return actionFor(kind, workload, [judge(workload, source, policy)], policy);
}

const AUTO = { 'reloader.stakater.com/auto': 'true' };
const RUN = { ...AUTO, 'attune.dev/on-change': 'run' };
const TEMPLATE = { ...AUTO, 'attune.dev/on-change': 'template' };
const DONE = { conditions: [{ type: 'Complete', status: 'True' }] };

test.each([
  ['Deployment', { metadata: AUTO }, 'patch'],
  ['Rollout', { metadata: AUTO }, 'patch'],
  ['Rollout', { metadata: { ...AUTO, 'reloader.stakater.com/rollout-strategy': 'restart' } }, 'restart'],
  ['CronJob', { metadata: AUTO }, 'run'],
  ['CronJob', { metadata: AUTO, spec: { suspend: true } }, 'none'],
  ['CronJob', { metadata: RUN, spec: { suspend: true } }, 'run'],
  ['CronJob', { metadata: TEMPLATE }, 'patch'],
  ['CronJob', { metadata: AUTO, spec: { suspend: true }, compat: true }, 'run'],
  ['Job', { metadata: AUTO }, 'replace'],
  ['Job', { metadata: AUTO, status: DONE }, 'replace'],
  ['Job', { template: AUTO }, 'replace'],
  ['Job', { template: AUTO, owner: 'CronJob' }, 'none'],
  ['Job', { all: true, owner: 'CronJob' }, 'none'],
  ['Job', { metadata: RUN, owner: 'CronJob' }, 'replace'],
  ['Job', { template: AUTO, owner: 'Workflow' }, 'replace'],
  ['Job', { template: AUTO, owner: 'CronJob', compat: true }, 'replace'],
  ['Job', { template: AUTO, status: DONE }, 'none'],
  ['Job', { all: true, status: DONE }, 'none'],
  ['Job', { template: AUTO, status: DONE, compat: true }, 'replace'],
] as const)('%s %j: %s', (kind, given, expected) => {
  expect(action(kind, given)).toBe(expected);
});

const asked = (
  kindName: KindName,
  annotated: 'rollout' | 'restart',
  asks: readonly (RolloutStrategy | undefined)[],
) => {
  const kind = kindNamed(kindName) as WorkloadKind;
  const metadata = { annotations: { 'reloader.stakater.com/rollout-strategy': annotated } };
  const verdicts = asks.map((rolloutStrategy) => ({
    ...verdict,
    ask: { ...verdict.ask, overrides: { rolloutStrategy } },
  }));
  const workload = workloadOf({ kind: kindName, metadata: metadata.annotations });
  return actionFor(kind, workload, verdicts, policyOf());
};

test.each<[KindName, 'rollout' | 'restart', readonly (RolloutStrategy | undefined)[], string]>([
  ['Deployment', 'rollout', ['restart'], 'evict'],
  ['StatefulSet', 'rollout', ['restart', 'restart'], 'evict'],
  ['DaemonSet', 'rollout', ['restart'], 'evict'],
  ['DeploymentConfig', 'rollout', ['restart'], 'evict'],
  // One patch serves all.
  ['Deployment', 'rollout', ['restart', 'rollout'], 'patch'],
  ['Deployment', 'rollout', ['restart', undefined], 'patch'],
  // The annotation is about Rollouts only, and a ReloaderConfig comes before it.
  ['Deployment', 'restart', [undefined], 'patch'],
  ['Rollout', 'rollout', ['restart'], 'restart'],
  ['Rollout', 'restart', ['rollout'], 'patch'],
  ['Rollout', 'restart', [undefined, 'restart'], 'restart'],
  ['CronJob', 'rollout', ['restart'], 'run'],
  ['Job', 'rollout', ['restart'], 'replace'],
])('%s, annotated %s, asked %j: %s', (kind, annotated, asks, expected) => {
  expect(asked(kind, annotated, asks)).toBe(expected);
});
