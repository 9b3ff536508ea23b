import { describe, expect, test } from 'vitest';
import type { SourceKind } from '../../src/api/sources.ts';
import { judge } from '../../src/domain/judge/judge.ts';
import { policyOf, workloadOf } from './given.ts';

interface Case {
  readonly title: string;
  readonly kind?: SourceKind;
  readonly pod: Readonly<Record<string, unknown>>;
  /** Index of the container that gets the mark, for a workload with `auto` and for one that names the source. */
  readonly auto: number | undefined;
  readonly named: number | undefined;
  /** Where the default mode differs for `auto`. */
  readonly autoByDefault?: number;
}

const env = { env: [{ name: 'X', valueFrom: { configMapKeyRef: { name: 'cm', key: 'k', optional: true } } }] };
const envFrom = { envFrom: [{ prefix: 'P_', configMapRef: { name: 'cm' } }] };
const mount = (name: string) => ({ volumeMounts: [{ name, mountPath: '/x', subPath: 'k' }] });
const volume = { name: 'v', configMap: { name: 'cm', optional: true, items: [] } };
const other = { name: 'other' };

const CASES: readonly Case[] = [
  { title: 'valueFrom', pod: { containers: [other, { name: 'b', ...env }] }, auto: 1, named: 1 },
  { title: 'envFrom', pod: { containers: [other, { name: 'b', ...envFrom }] }, auto: 1, named: 1 },
  { title: 'volume', pod: { containers: [other, { name: 'b', ...mount('v') }], volumes: [volume] }, auto: 1, named: 1 },
  {
    title: 'projected volume with several sources',
    pod: {
      containers: [other, { name: 'b', ...mount('v') }],
      volumes: [{ name: 'v', projected: { sources: [{ secret: { name: 's' } }, { configMap: { name: 'cm' } }] } }],
    },
    auto: 1,
    named: 1,
  },
  {
    title: 'two containers use it: only the first is marked',
    pod: {
      containers: [
        { name: 'a', ...envFrom },
        { name: 'b', ...envFrom },
      ],
    },
    auto: 0,
    named: 0,
  },
  {
    title: 'volume in the second, env in the first: volumes are looked at first',
    pod: {
      containers: [
        { name: 'a', ...env },
        { name: 'b', ...mount('v') },
      ],
      volumes: [volume],
    },
    auto: 1,
    named: 1,
  },
  {
    title: 'volume that nobody mounts',
    pod: { containers: [{ name: 'a' }, { name: 'b' }], volumes: [volume] },
    auto: undefined,
    named: 0,
  },
  {
    title: 'volume that nobody mounts, but env uses it',
    pod: { containers: [{ name: 'a' }, { name: 'b', ...env }], volumes: [volume] },
    auto: 1,
    named: 1,
  },
  {
    title: 'only the first volume with the source is tried',
    pod: { containers: [{ name: 'a', ...mount('w') }], volumes: [volume, { ...volume, name: 'w' }] },
    auto: undefined,
    named: 0,
  },
  {
    title: 'volume of an init container goes to the first container',
    pod: {
      initContainers: [{ name: 'i', ...mount('v') }],
      containers: [{ name: 'a' }, { name: 'b' }],
      volumes: [volume],
    },
    auto: 0,
    named: 0,
  },
  {
    title: 'a container that mounts comes before an init container that does',
    pod: {
      initContainers: [{ name: 'i', ...mount('v') }],
      containers: [other, { name: 'b', ...mount('v') }],
      volumes: [volume],
    },
    auto: 1,
    named: 1,
  },
  {
    title: 'env of a container comes before env of an init container',
    pod: { initContainers: [{ name: 'i', ...env }], containers: [other, { name: 'b', ...env }] },
    auto: 1,
    named: 1,
  },
  {
    title: 'env of a native sidecar goes to the first container',
    pod: { initContainers: [{ name: 'i', restartPolicy: 'Always', ...envFrom }], containers: [{ name: 'a' }] },
    auto: 0,
    named: 0,
  },
  {
    title: 'an init container alone: there is nothing to mark',
    pod: { initContainers: [{ name: 'i', ...envFrom, ...mount('v') }], containers: [], volumes: [volume] },
    auto: undefined,
    named: undefined,
  },
  { title: 'no containers at all', pod: {}, auto: undefined, named: undefined },
  { title: 'not used', pod: { containers: [{ name: 'a' }] }, auto: undefined, named: 0 },
  {
    title: 'ephemeral containers do not count',
    pod: { containers: [{ name: 'a' }], ephemeralContainers: [{ name: 'e', ...envFrom }] },
    auto: undefined,
    named: 0,
  },
  {
    title: 'Secret in a volume',
    kind: 'Secret',
    pod: { containers: [other, { name: 'b', ...mount('v') }], volumes: [{ name: 'v', secret: { secretName: 'cm' } }] },
    auto: 1,
    named: 1,
  },
  {
    title: 'Secret in env',
    kind: 'Secret',
    pod: {
      containers: [other, { name: 'b', env: [{ name: 'X', valueFrom: { secretKeyRef: { name: 'cm', key: 'k' } } }] }],
    },
    auto: 1,
    named: 1,
  },
  {
    title: 'a ConfigMap of the same name is no Secret',
    kind: 'Secret',
    pod: { containers: [{ name: 'a', ...envFrom }] },
    auto: undefined,
    named: 0,
  },
  {
    title: 'pull secret',
    kind: 'Secret',
    pod: { containers: [{ name: 'a' }, { name: 'b' }], imagePullSecrets: [{ name: 'cm' }] },
    auto: undefined,
    autoByDefault: 0,
    named: 0,
  },
  {
    title: 'a pull secret that a container also uses is marked there',
    kind: 'Secret',
    pod: {
      containers: [other, { name: 'b', envFrom: [{ secretRef: { name: 'cm' } }] }],
      imagePullSecrets: [{ name: 'cm' }],
    },
    auto: 1,
    named: 1,
  },
  {
    title: 'legacy volume secrets and nodePublishSecretRef do not count',
    kind: 'Secret',
    pod: {
      containers: [{ name: 'a', ...mount('v'), ...mount('w') }],
      volumes: [
        { name: 'v', csi: { driver: 'd', nodePublishSecretRef: { name: 'cm' } } },
        { name: 'w', cephfs: { monitors: [], secretRef: { name: 'cm' } } },
      ],
    },
    auto: undefined,
    named: 0,
  },
  {
    title: 'class of a CSI volume, whatever the driver',
    kind: 'SecretProviderClass',
    pod: {
      containers: [other, { name: 'b', ...mount('v') }],
      volumes: [{ name: 'v', csi: { driver: 'any', volumeAttributes: { secretProviderClass: 'cm' } } }],
    },
    auto: 1,
    named: 1,
  },
];

describe.each([
  { mode: 'compat', compat: true },
  { mode: 'default', compat: false },
])('$mode', ({ compat }) => {
  test.each(CASES)('$title', ({ kind = 'ConfigMap', pod, auto, autoByDefault, named }) => {
    const chosen = (metadata: Readonly<Record<string, string>>): number | undefined => {
      const source = { ref: { kind, name: 'cm' }, ignored: false, matchable: false };
      const verdict = judge(workloadOf({ metadata, pod, compat }), source, policyOf({ compat }));
      return verdict.reload ? verdict.container : undefined;
    };
    expect(chosen({ 'reloader.stakater.com/auto': 'true' })).toBe(compat ? auto : (autoByDefault ?? auto));
    expect(chosen({ [`${kind.toLowerCase()}.reloader.stakater.com/reload`]: 'cm' })).toBe(named);
  });
});
