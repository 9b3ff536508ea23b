import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Server } from 'node:net';
import { dirname } from 'node:path';
import { execPath } from 'node:process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { Audit } from '../../support/audit.ts';
import { connectProxy } from '../../support/connect-proxy.ts';
import { type Stage, stage } from '../../support/controller.ts';
import { api, controlPlane, runProgram } from '../../support/sandbox.ts';
import { socksProxy } from '../../support/socks-proxy.ts';
import { until } from '../../support/wait.ts';
import { pathOf } from '../../support/workloads.ts';
import { movesIn, untilMarked } from '../reloader/moves.ts';
import { bundle, imageEnvironment } from './bundle.ts';

const { program, call, file, metafile } = bundle();
const plane = controlPlane();
const EXAMPLE = new URL('../../../deploy/redis/example.yaml', import.meta.url);
let scene: Stage;
beforeAll(async () => {
  scene = await stage();
  // A controller of the cluster makes it, a moment after the namespace.
  const path = pathOf('ConfigMap', scene.space, 'kube-root-ca.crt');
  await until(() => api().find(path), { what: 'kube-root-ca.crt' });
});
afterAll(() => scene[Symbol.asyncDispose]());

const config = ({ user = {}, cluster = {} }: { readonly user?: object; readonly cluster?: object } = {}) => ({
  apiVersion: 'v1',
  kind: 'Config',
  'current-context': 'here',
  contexts: [{ name: 'here', context: { cluster: 'c', user: 'u', namespace: scene.space } }],
  clusters: [
    {
      name: 'c',
      cluster: {
        server: plane.server,
        'certificate-authority-data': Buffer.from(plane.authority).toString('base64'),
        ...cluster,
      },
    },
  ],
  users: [{ name: 'u', user }],
});
const block = (given: object): string => stringify(given);
/** Not JSON: quotes are single, keys are bare. */
const flow = (given: object): string => stringify(given, { collectionStyle: 'flow', singleQuote: true });
const withToken = () => config({ user: { token: scene.access.token } });

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterAll(() => void server.close());
  const address = server.address();
  return typeof address === 'object' ? (address?.port ?? 0) : 0;
}

/** In the certificate, and known to no resolver: only a proxy can lead there. */
const SERVER_NAME = 'kubernetes.default.svc';
const apiPort = () => Number(new URL(plane.server).port);
const behind = (proxy: string) =>
  config({
    user: { token: scene.access.token },
    cluster: { server: `https://${SERVER_NAME}:${apiPort()}`, 'proxy-url': proxy },
  });

/** Asks the cluster for something through the kubeconfig. */
async function reaches(kubeconfig: string, env: Readonly<Record<string, string>> = {}): Promise<void> {
  const path = file(`config-${randomBytes(3).toString('hex')}`, kubeconfig);
  const answer = await call(['impact', 'configmap/kube-root-ca.crt', '--kubeconfig', path], env);
  expect([answer.code, answer.stderr]).toEqual([0, '']);
  expect(answer.stdout).toContain(`${scene.space}/kube-root-ca.crt`);
}

const asAdmin = () => ['--kubeconfig', file('admin', block(config({ user: { token: plane.token } })))];

/** Ready means that it has made a certificate, and answered itself with it. */
async function servesAdmission(words: readonly string[]): Promise<void> {
  const path = file(`admission-${words.length}`, block(config({ user: { token: plane.token } })));
  const flags = [...words, '--admission-listen=127.0.0.1:0', '--drain=0s'];
  const env = { ...imageEnvironment(), KUBECONFIG: path, ATTUNE_ADMISSION_NAME: `bundle-${words[0]?.length}` };
  await using replica = await scene.start(flags, { program, env });
  await replica.untilLine(/admission is ready/);
}

/** Each part that is loaded only when it is called for, by its file, and a use of it. */
const PARTS: Readonly<Record<string, () => Promise<void>>> = {
  'src/cli/start.ts': async () => {
    expect(await call(['help'])).toMatchObject({ code: 0, stdout: expect.stringContaining('usage: attune') });
  },
  'src/cli/commands/controller.ts': async () => {
    expect((await call(['controller', '--help'])).stdout).toContain('--auto-reload-all');
  },
  'src/cli/commands/admission.ts': async () => {
    expect((await call(['admission', '--help'])).stdout).toContain('--admission-failure-policy');
  },
  'src/cli/admission/install.ts': async () => {
    const { code, stdout } = await call(['admission', 'install', '--dry-run', '-n', scene.home, ...asAdmin()]);
    expect([code, stdout]).toEqual([0, expect.stringContaining('kind: MutatingWebhookConfiguration')]);
  },
  'src/cli/admission/status.ts': async () => {
    // Others may have registered theirs.
    expect(JSON.parse((await call(['admission', 'status', '-o', 'json', ...asAdmin()])).stdout)).toBeInstanceOf(Array);
  },
  'src/cli/admission/uninstall.ts': async () => {
    const { code, stdout } = await call(['admission', 'uninstall', ...asAdmin()], {
      ATTUNE_ADMISSION_NAME: scene.home,
    });
    expect([code, stdout]).toEqual([0, expect.stringContaining(scene.home)]);
  },
  'src/cli/admission/serve.ts': () => servesAdmission(['--admission']),
  'src/admission/certificates/make-certificates.ts': () => servesAdmission(['admission']),
  'src/cli/commands/explain.ts': async () => {
    const { code, stderr } = await call([
      'explain',
      'deployment/none',
      '--kubeconfig',
      file('explain', block(withToken())),
    ]);
    expect([code, stderr]).toEqual([1, expect.stringContaining(`there is no Deployment ${scene.space}/none`)]);
  },
  'src/cli/commands/impact.ts': () => reaches(block(withToken())),
  'src/cli/commands/config.ts': async () => {
    const { code, stdout } = await call(['config', 'check', file('reload', 'kind: ReloaderConfig')]);
    expect([code, stdout]).toEqual([1, expect.stringMatching(/spec +is missing/)]);
  },
  'src/cli/commands/doctor.ts': async () => {
    const path = file('doctor', flow(config({ user: { token: plane.token } })));
    const { code, stdout } = await call(['doctor', '-n', scene.space, '--kubeconfig', path]);
    expect([code, stdout]).toEqual([0, expect.stringContaining('Stakater')]);
  },
  'src/cli/commands/resume.ts': async () => {
    const path = file('resume', flow(withToken()));
    expect(await call(['resume', '-n', scene.space, '--kubeconfig', path])).toMatchObject({ code: 0 });
  },
  'src/cli/commands/sandbox.ts': async () => {
    expect((await call(['sandbox', 'status', '--name', plane.name])).stdout).toContain(plane.server);
  },
  'src/cli/commands/agent.ts': async () => {
    expect((await call(['agent', 'redis', '--help'])).stdout).toContain('--cluster-name');
  },
  'src/agent/redis/run.ts': async () => {
    const data = dirname(file('redis/empty', ''));
    const names = ['--cluster-name=none', '--pod-name=none-0', `--pod-namespace=${scene.space}`];
    const agent = runProgram(
      [execPath, program, 'agent', 'redis', ...names, '--data-dir', data, '--listen=127.0.0.1:0', ...asAdmin()],
      imageEnvironment(),
    );
    await until(() => agent.lines.some((line) => line.includes('Redis is left as it is')), { what: 'a first pass' });
    expect(await agent.terminate()).toBe(0);
  },
  'src/cli/commands/redis.ts': async () => {
    const { stdout, stderr } = await call(['redis', 'status', '-n', scene.space, ...asAdmin()]);
    expect(stdout + stderr).toContain('RedisCluster');
  },
  'src/cli/sandbox/redis.ts': async () => {
    const { code, stderr } = await call(['sandbox', 'redis', '--name', plane.name]);
    expect([code, stderr]).toEqual([1, expect.stringContaining('part of the repository')]);
  },
  'src/cli/tour/redis/redis-tour.ts': async () => {
    file('deploy/redis/example.yaml', readFileSync(EXAMPLE, 'utf8'));
    const { code, stdout } = await call([
      'tour',
      'redis',
      '--once',
      '--name',
      `bundle-${randomBytes(3).toString('hex')}`,
    ]);
    expect([code, stdout]).toEqual([0, expect.stringContaining('0 failed commands')]);
  },
  'src/cli/commands/version.ts': async () => {
    expect((await call(['--version'])).stdout).toMatch(/^attune \d+\.\d+\.\d+ /);
  },
  'src/cli/commands/tour.ts': async () => {
    const name = `bundle-${randomBytes(3).toString('hex')}`;
    const { code, stdout } = await call(['tour', '--once', '--name', name]);
    expect([code, stdout]).toEqual([
      0,
      expect.stringContaining('ConfigMap demo/app changed → Deployment demo/web rolled'),
    ]);
  },
  'src/sandbox/inspect.ts': async () => {
    const { code } = await call(['impact', 'configmap/kube-root-ca.crt', '-n', scene.space, `--sandbox=${plane.name}`]);
    expect(code).toBe(0);
  },
  'src/kube/auth/yaml.ts': () => reaches(flow(withToken())),
  'src/kube/auth/exec-plugin.ts': async () => {
    const answer = {
      apiVersion: 'client.authentication.k8s.io/v1',
      kind: 'ExecCredential',
      status: { token: scene.access.token },
    };
    const command = file('plugin', `#!/bin/sh\ncat <<'END'\n${JSON.stringify(answer)}\nEND\n`, 0o700);
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command, interactiveMode: 'Never' };
    await reaches(block(config({ user: { exec } })));
  },
  'src/kube/auth/oidc.ts': () =>
    reaches(block(config({ user: { 'auth-provider': { name: 'oidc', config: { 'id-token': scene.access.token } } } }))),
  'src/kube/proxy/proxy-tunnel.ts': async () => {
    const { server, asked } = connectProxy(apiPort());
    await reaches(block(behind(`http://127.0.0.1:${await listen(server)}`)));
    expect(asked).toContainEqual(expect.objectContaining({ target: `${SERVER_NAME}:${apiPort()}` }));
  },
  'src/kube/proxy/socks-tunnel.ts': async () => {
    const { server, targets } = socksProxy(apiPort());
    await reaches(block(behind(`socks5h://127.0.0.1:${await listen(server)}`)));
    expect(targets).toContain(`${SERVER_NAME}:${apiPort()}`);
  },
};

describe('every part that is loaded when it is called for works from the bundle', () => {
  it.each(Object.entries(PARTS))('%s', (_, use) => use());

  it('and these are all', () => {
    const lazy = Object.values(metafile().outputs).flatMap(({ imports }) =>
      imports.filter(({ kind, external }) => kind === 'dynamic-import' && !external).map(({ path }) => path),
    );
    const files = new Set(lazy.map((path) => metafile().outputs[path]?.entryPoint));
    expect([...files].toSorted()).toEqual(Object.keys(PARTS).toSorted());
  });
});

describe.each([
  ['block', block],
  ['flow', flow],
])('with a kubeconfig in the %s style of YAML', (name, style) => {
  it('the controller rolls, `explain` and `doctor` answer', async () => {
    const moves = movesIn(scene.space);
    await using audit = await Audit.of(scene.space, ['Deployment']);
    await moves.createSource('ConfigMap', name, { value: '1' });
    await moves.createUser(name, name);
    const path = file(`kubeconfig-${name}`, style(withToken()));
    const controller = await scene.start([], { program, env: { ...imageEnvironment(), KUBECONFIG: path } });
    await using _stop = controller;
    await moves.setData('ConfigMap', name, { value: '2' });
    await untilMarked(audit, 'Deployment', name, { value: '2' });
    const explained = await call(['explain', `deployment/${name}`, '--kubeconfig', path]);
    expect([explained.code, explained.stderr]).toEqual([0, '']);
    expect(explained.stdout).toContain(`✓ ConfigMap ${name}: a change rolls it (auto)`);
    const admin = file(`admin-${name}`, style(config({ user: { token: plane.token } })));
    const diagnosed = await call(['doctor', '-n', scene.space, '--kubeconfig', admin]);
    expect([diagnosed.code, diagnosed.stdout]).toEqual([0, expect.stringContaining('Nothing would change')]);
    expect(await controller.stop()).toBe(0);
  });
});

it('an older Node is told which one is needed', async () => {
  // What an older Node has not, and what it says that it is.
  const older = `delete Promise.withResolvers; Object.defineProperty(process, 'versions', { value: { node: '20.11.0' } })`;
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(older)}` };
  const { code, stderr } = await call(['controller'], env);
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(/^attune needs Node 24 or newer, and this is Node 20\.11\.0/),
  ]);
  const entry = metafile().outputs;
  const [, main] = Object.entries(entry).find(([path]) => path.endsWith('attune.mjs')) ?? [];
  expect(main?.imports.filter(({ kind, external }) => kind === 'import-statement' && !external)).toEqual([]);
});

it('the first line says which version starts, on which cluster, as whom, for which namespaces', async () => {
  const path = file('first-line', block(withToken()));
  const flags = [`--kubeconfig=${path}`, '--context=here', '--log-format=json'];
  const controller = await scene.start(flags, { program, env: { KUBECONFIG: '/none' } });
  await using _stop = controller;
  expect(JSON.parse(controller.lines[0] ?? '')).toMatchObject({
    msg: expect.stringMatching(/^Starting Reloader: Attune \d/),
    server: expect.stringContaining(new URL(plane.server).host),
    context: 'here',
    namespaces: scene.space,
  });
});
