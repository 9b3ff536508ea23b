import { expect, it } from 'vitest';
import { api, namespace, serviceAccount } from '../../support/sandbox.ts';
import { commandLine } from '../cli/run.ts';

const shop = await namespace('doctor');

async function doctor(rules: readonly object[], name: string) {
  return await commandLine(await serviceAccount(shop, name, rules))('doctor', '-n', shop);
}

function deployment(name: string, container: object, annotations: object = {}, rest: object = {}) {
  return {
    metadata: { name, annotations },
    spec: {
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: { containers: [{ name: 'main', image: 'shop', ...container }], ...rest },
      },
    },
  };
}

it('tells what would change, with nothing but the right to read', async () => {
  const admin = api();
  const deployments = `/apis/apps/v1/namespaces/${shop}/deployments`;
  const uses = { envFrom: [{ configMapRef: { name: 'app' } }] };
  await admin.create(`/api/v1/namespaces/${shop}/configmaps`, { metadata: { name: 'app' }, data: { a: '1' } });
  const reloader = { image: 'stakater/reloader:v1.4.21', args: [`--namespaces=${shop}`, '--log-level=info'] };
  await admin.create(deployments, deployment('reloader-reloader', reloader));
  await admin.create(deployments, deployment('same', uses, { 'reloader.stakater.com/auto': 'true' }));
  await admin.create(
    deployments,
    deployment('other', uses, {
      'reloader.stakater.com/auto': 'false',
      'configmap.reloader.stakater.com/reload': 'app',
    }),
  );

  const read = [{ apiGroups: ['*'], resources: ['*'], verbs: ['get', 'list'] }];
  const { code, stdout, stderr } = await doctor(read, 'reader');
  expect(stderr).toBe('');
  expect(stdout).toContain(`Stakater Reloader: Deployment ${shop}/reloader-reloader, stakater/reloader:v1.4.21`);
  expect(stdout).toContain(`= Deployment ${shop}/same: as before, 1 source\n`);
  expect(stdout).toMatch(/≠ Deployment \S+\/other\n +ConfigMap app: Reloader rolls it, Attune does nothing: .*"false"/);
  expect(stdout).toContain('1 of 2 workloads would be treated differently. 1 workloads take no part.');
  expect(code).toBe(1);

  await admin.delete(`${deployments}/other`);
  expect(await doctor(read, 'again')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('Nothing would change'),
  });
});

it('says what it may not read, and judges the rest', async () => {
  const some = [{ apiGroups: ['', 'apps'], resources: ['configmaps', 'deployments'], verbs: ['list'] }];
  const { code, stdout } = await doctor(some, 'half');
  expect(stdout).toContain('! secrets: this user may not list them');
  expect(stdout).toContain(`= Deployment ${shop}/same: as before, 1 source\n`);
  expect(stdout).toContain('Could not tell');
  expect(code).toBe(2);
});

it('says why it cannot tell', async () => {
  const attune = commandLine();
  expect(await attune('doctor', '--kubeconfig', '/nowhere/kubeconfig')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('attune doctor: '),
  });
  expect(await attune('doctor', '-n', `${shop}-nope`)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`there is no namespace ${shop}-nope`),
  });
});
