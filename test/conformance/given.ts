import { DEFAULT_KEYS } from '../../src/api/annotations.ts';
import { type KindName, kindNamed, type WorkloadKind } from '../../src/api/kinds.ts';
import type { KubeObject } from '../../src/api/objects.ts';
import type { SourceKind } from '../../src/api/sources.ts';
import type { Policy } from '../../src/domain/judge/verdict.ts';
import { parseWorkload } from '../../src/domain/workload/parse-workload.ts';
import type { Workload } from '../../src/domain/workload/workload.ts';
import { createDigest } from '../../src/runtime/digest.ts';

export const digest = createDigest(new Uint8Array(32).fill(7));

/** Marks as they look. */
export const HASH_A = 'a'.repeat(40);
export const HASH_B = 'b'.repeat(40);

export interface Given {
  readonly kind?: KindName;
  readonly name?: string;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  readonly template?: Readonly<Record<string, string>> | undefined;
  /** The pod's spec. */
  readonly pod?: Readonly<Record<string, unknown>>;
  /** Beside the template, in the workload's spec. */
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: Readonly<Record<string, unknown>>;
  readonly compat?: boolean;
  readonly sapCompat?: boolean;
  readonly labels?: Readonly<Record<string, string>>;
}

export function rowOf(kind: KindName): WorkloadKind {
  const row = kindNamed(kind);
  if (row === undefined) throw new Error(`no row for ${kind}`);
  return row;
}

/** An object as the API server sends it. */
export function objectOf(given: Given): KubeObject & Readonly<Record<string, unknown>> {
  const { kind = 'Deployment', name = 'web', metadata, template, pod = { containers: [{ name: 'app' }] } } = given;
  const podTemplate = { ...(template === undefined ? {} : { metadata: { annotations: template } }), spec: pod };
  const inner = rowOf(kind).templatePath.slice(1, -1);
  const nested = inner.reduceRight<unknown>((value, member) => ({ [member]: value }), { template: podTemplate });
  return {
    apiVersion: 'v1',
    kind,
    metadata: {
      name,
      namespace: 'shop',
      uid: 'uid-1',
      resourceVersion: '41',
      ...(metadata === undefined ? {} : { annotations: metadata }),
      ...(given.labels && { labels: given.labels }),
    },
    spec: { ...given.spec, ...(nested as Record<string, unknown>) },
    ...(given.status && { status: given.status }),
  };
}

export function workloadOf(given: Given): Workload {
  return parse(given.kind ?? 'Deployment', objectOf(given), given.compat, given.sapCompat);
}

export function parse(kind: KindName, object: KubeObject, compat = false, sapCompat = false): Workload {
  return parseWorkload(rowOf(kind), object, { keys: DEFAULT_KEYS, compat, sapCompat, digest: digest.text });
}

export function policyOf(policy: Partial<Policy> = {}): Policy {
  return {
    compat: false,
    sapCompat: false,
    autoReloadAll: false,
    ignoredKinds: new Set(),
    keys: DEFAULT_KEYS,
    reloadStrategy: 'env-vars',
    ...policy,
  };
}

/** A pod whose one container uses a source. */
export function podUsing(kind: SourceKind, name: string): Readonly<Record<string, unknown>> {
  if (kind === 'SecretProviderClass') {
    return {
      containers: [{ name: 'app', volumeMounts: [{ name: 'v', mountPath: '/v' }] }],
      volumes: [{ name: 'v', csi: { driver: 'd', volumeAttributes: { secretProviderClass: name } } }],
    };
  }
  const from = kind === 'ConfigMap' ? { configMapRef: { name } } : { secretRef: { name } };
  return { containers: [{ name: 'app', envFrom: [from] }] };
}
