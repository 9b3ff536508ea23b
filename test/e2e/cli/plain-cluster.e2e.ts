import { expect, it } from 'vitest';
import { api, ownControlPlane, serviceAccountAccess } from '../../support/sandbox.ts';
import { until } from '../../support/wait.ts';
import { podUsing, workload } from '../../support/workloads.ts';
import { commandLine } from './run.ts';

// A cluster of its own: in the one of the other tests somebody may have installed Rollouts and DeploymentConfigs.
const { plane } = await ownControlPlane({ apiOnly: true });
const admin = api(plane);
const RBAC = '/apis/rbac.authorization.k8s.io/v1/namespaces/shop';

/** Somebody who may read what every cluster has, in one namespace. */
async function tenant() {
  const metadata = { name: 'tenant' };
  const rules = [{ apiGroups: ['', 'apps', 'batch'], resources: ['*'], verbs: ['get', 'list'] }];
  const subjects = [{ kind: 'ServiceAccount', name: 'tenant', namespace: 'shop' }];
  await admin.create('/api/v1/namespaces', { metadata: { name: 'shop' } });
  await admin.create('/api/v1/namespaces/shop/serviceaccounts', { metadata });
  await admin.create(`${RBAC}/roles`, { metadata, rules });
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'tenant' };
  await admin.create(`${RBAC}/rolebindings`, { metadata, roleRef, subjects });
  const access = await serviceAccountAccess('shop', 'tenant', plane);
  await until(() => api(access).list('/api/v1/namespaces/shop/configmaps'), { what: 'its rights' });
  return access;
}

it('to kinds that the cluster does not have nobody needs rights', async () => {
  const access = await tenant();
  const attune = commandLine(access);
  const pod = podUsing({ kind: 'ConfigMap', name: 'app' }, 'envFrom');
  const annotations = { 'reloader.stakater.com/auto': 'true' };
  await admin.create('/api/v1/namespaces/shop/configmaps', { metadata: { name: 'app' }, data: { a: '1' } });
  await admin.create('/apis/apps/v1/namespaces/shop/deployments', workload('Deployment', 'web', { annotations, pod }));
  // The server tells them apart for nobody.
  await expect(api(access).list('/apis/argoproj.io/v1alpha1/namespaces/shop/rollouts')).rejects.toThrow(/ 403 /);

  const all = ['-n', 'shop', '--is-Argo-Rollouts=true', '--enable-csi-integration=true'];
  expect(await attune('doctor', ...all)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('Nothing would change.'),
  });
  const { stdout } = await attune('impact', 'cm/app', ...all, '-o', 'json');
  expect(JSON.parse(stdout)).toMatchObject({ complete: true, notes: [], workloads: [{ rolls: true }] });
  expect(await attune('explain', 'rollout/web', ...all)).toMatchObject({
    code: 1,
    stderr: 'attune explain: this cluster has no rollouts.argoproj.io\n',
  });
});
