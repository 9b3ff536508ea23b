import { describe, expect, it } from 'vitest';
import { sourceTarget, workloadTarget } from './kind-words.ts';

describe('a workload is named as kubectl takes it', () => {
  it.each([
    ['deploy/web', 'Deployment'],
    ['deployment/web', 'Deployment'],
    ['deployments/web', 'Deployment'],
    ['deployment.apps/web', 'Deployment'],
    ['Deployment/web', 'Deployment'],
    ['sts/web', 'StatefulSet'],
    ['ds/web', 'DaemonSet'],
    ['cj/web', 'CronJob'],
    ['job/web', 'Job'],
    ['rollout/web', 'Rollout'],
    ['rollouts.argoproj.io/web', 'Rollout'],
    ['dc/web', 'DeploymentConfig'],
    ['pod/web', 'Pod'],
    ['po/web', 'Pod'],
    ['rs/web', 'ReplicaSet'],
  ])('%s', (operand, kind) => {
    expect(workloadTarget([operand])).toMatchObject({ kind: { kind }, name: 'web' });
  });

  it('in two words', () => {
    expect(workloadTarget(['deploy', 'web'])).toMatchObject({ kind: { kind: 'Deployment' }, name: 'web' });
  });

  it.each([
    [['deploymnet/web'], /no kind "deploymnet", did you mean deployment\?/],
    [['configmap/app'], /no kind "configmap".*\(deployment, cronjob/],
    [['deployment'], /which Deployment\?/],
    [['deployment/'], /which Deployment\?/],
    [['deployment/.'], /"\." is no name of a Deployment/],
    [['deployment', '..'], /"\.\." is no name of a Deployment/],
    [[], /deployment\/web/],
    [['deploy', 'web', 'api'], /one at a time/],
  ])('%j is refused with a hint', (operands, problem) => {
    expect(workloadTarget(operands)).toMatch(problem);
  });
});

it.each([
  ['cm/app', 'ConfigMap'],
  ['configmaps/app', 'ConfigMap'],
  ['secret/app', 'Secret'],
  ['spc/app', 'SecretProviderClass'],
  ['secretproviderclasses.secrets-store.csi.x-k8s.io/app', 'SecretProviderClass'],
])('a source: %s', (operand, kind) => {
  expect(sourceTarget([operand])).toEqual({ kind, name: 'app' });
});
