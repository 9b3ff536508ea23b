import { WORKLOAD_KINDS } from '../../api/kinds.ts';
import { PODS, REPLICA_SETS, REPLICATION_CONTROLLERS, type Resource, SOURCE_RESOURCES } from '../../api/resources.ts';
import type { SourceKind } from '../../api/sources.ts';
import { nearest } from '../../config/nearest.ts';

/** The short names that kubectl takes. */
const SHORT: Readonly<Record<string, readonly string[]>> = {
  Deployment: ['deploy'],
  CronJob: ['cj'],
  DaemonSet: ['ds'],
  StatefulSet: ['sts'],
  Rollout: ['ro'],
  DeploymentConfig: ['dc'],
  Pod: ['po'],
  ReplicaSet: ['rs'],
  ReplicationController: ['rc'],
  ConfigMap: ['cm'],
  SecretProviderClass: ['spc'],
};

/** An object as one names it on a command line. */
export interface Target<K> {
  readonly kind: K;
  readonly name: string;
}

/** A workload, or something that a workload made. */
export const workloadTarget = (operands: readonly string[]): Target<Resource> | string =>
  readTarget<Resource>(operands, [...WORKLOAD_KINDS, PODS, REPLICA_SETS, REPLICATION_CONTROLLERS], 'deployment/web');

export function sourceTarget(operands: readonly string[]): Target<SourceKind> | string {
  const target = readTarget(operands, Object.values(SOURCE_RESOURCES), 'configmap/app');
  return typeof target === 'string' ? target : { ...target, kind: target.kind.kind as SourceKind };
}

/** `deploy/web`, `deployment.apps/web` and `deployments web`; a text says what is wrong. */
function readTarget<R extends Resource>(
  operands: readonly string[],
  resources: readonly R[],
  example: string,
): Target<R> | string {
  const [word = '', name = '', ...rest] = operands.flatMap((operand) => operand.split('/'));
  if (word === '') return `what? for example ${example}`;
  const words = new Map(resources.flatMap((resource) => wordsFor(resource).map((each) => [each, resource] as const)));
  const kind = words.get(word.toLowerCase());
  if (!kind) {
    const guess = nearest(word, words.keys());
    const known = resources.map((resource) => resource.kind.toLowerCase()).join(', ');
    return `there is no kind "${word}"${guess ? `, did you mean ${guess}?` : ''} (${known})`;
  }
  if (name === '') return `which ${kind.kind}? for example ${word}/${example.split('/')[1]}`;
  // As the server has it: they lead to another path.
  if (name === '.' || name === '..') return `"${name}" is no name of a ${kind.kind}`;
  return rest.length > 0 ? `one at a time: ${word}/${name}` : { kind, name };
}

function wordsFor({ kind, plural, group }: Resource): readonly string[] {
  const names = [kind.toLowerCase(), plural, ...(SHORT[kind] ?? [])];
  return group === '' ? names : names.flatMap((name) => [name, `${name}.${group}`]);
}
