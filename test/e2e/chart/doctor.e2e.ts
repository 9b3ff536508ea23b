import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { runDoctor } from '../../../src/cli/commands/doctor.ts';
import { writeKubeconfig } from '../../../src/sandbox/credentials.ts';
import { api, namespace, serviceAccount } from '../../support/sandbox.ts';

const shop = await namespace('doctor');
const folder = mkdtempSync(join(tmpdir(), 'attune-doctor-'));
afterAll(() => rmSync(folder, { recursive: true }));

async function doctor(rules: readonly object[], name: string) {
  const access = await serviceAccount(shop, name, rules);
  const kubeconfig = join(folder, name);
  writeKubeconfig(kubeconfig, name, access);
  let stdout = '';
  let stderr = '';
  const code = await runDoctor(['--kubeconfig', kubeconfig, '-n', shop], {
    env: {},
    stdout: (text) => {
      stdout += text;
    },
    stderr: (text) => {
      stderr += text;
    },
  });
  return { code, stdout, stderr };
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
  expect(code).toBe(0);
});

it('says why it cannot tell', async () => {
  writeFileSync(join(folder, 'broken'), 'no kubeconfig');
  let stderr = '';
  const io = { env: {}, stdout: () => {}, stderr: (text: string) => (stderr += text) };
  expect(await runDoctor(['--kubeconfig', join(folder, 'broken')], io)).toBe(2);
  expect(stderr).toContain('attune doctor: ');
  expect(await runDoctor(['--whatever'], io)).toBe(2);
});
