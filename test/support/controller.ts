import { spawn } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { createInterface } from 'node:readline';
import { parseAllDocuments } from 'yaml';
import { environment } from '../../src/config/load.ts';
import type { ApiAccess } from '../../src/sandbox/control-plane/api-request.ts';
import { writeKubeconfig } from '../../src/sandbox/control-plane/write-kubeconfig.ts';
import { shippedProgram } from './programs.ts';
import { api, serviceAccountAccess } from './sandbox.ts';
import { until } from './wait.ts';

const PORT = 9090;

export interface StartOptions {
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Its own namespace. */
  readonly home: string;
  readonly access: ApiAccess;
  /** What is run, if not what is shipped. */
  readonly program?: string;
  /** False: come back at once, for processes that will not become ready. */
  readonly untilReady?: boolean;
}

/** A controller in a process of its own. */
export interface Controller extends AsyncDisposable {
  readonly pid: number;
  /** What it printed so far, both streams, by line. */
  readonly lines: readonly string[];
  /** The exit code, or the signal's name. */
  readonly ended: Promise<number | string>;
  /** Asks its HTTP server. */
  ask(path: string): Promise<{ readonly status: number; readonly body: string }>;
  /** Sum of all series of a metric that carry these labels; undefined if there is none. */
  metric(name: string, labels?: Readonly<Record<string, string>>): Promise<number | undefined>;
  /** The first line that matches, now or later. */
  untilLine(pattern: RegExp): Promise<string>;
  /** SIGTERM; gives the exit code. */
  stop(): Promise<number | string>;
  kill9(): Promise<void>;
  /** SIGSTOP and SIGCONT. */
  freeze(): void;
  thaw(): void;
}

/** Starts the controller as a user would, and waits until it says that it is ready. */
export async function startController(options: StartOptions): Promise<Controller> {
  const folder = mkdtempSync(join(tmpdir(), 'attune-controller-'));
  const kubeconfig = join(folder, 'kubeconfig');
  writeKubeconfig(kubeconfig, 'e2e', options.access);
  const address = `127.${randomInt(64, 128)}.${randomInt(256)}.${randomInt(1, 255)}`;
  const { PATH = '' } = environment();
  const env = {
    PATH,
    KUBECONFIG: kubeconfig,
    POD_NAMESPACE: options.home,
    ATTUNE_LISTEN_ADDRESS: address,
    ...options.env,
  };
  const child = spawn(execPath, [options.program ?? shippedProgram(), ...(options.flags ?? [])], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => lines.push(line));
  }
  const ended = new Promise<number | string>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve(signal ?? code ?? 0));
  });
  const signalled = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    return await ended;
  };
  const controller: Controller = {
    pid: child.pid ?? 0,
    lines,
    ended,
    ask: (path) => ask(address, path),
    async metric(name, labels = {}) {
      return sumOf((await ask(address, '/metrics')).body, name, labels);
    },
    untilLine: (pattern) => until(() => lines.find((line) => pattern.test(line)), { what: `${pattern} in the log` }),
    stop: () => signalled('SIGTERM'),
    kill9: async () => void (await signalled('SIGKILL')),
    freeze: () => void child.kill('SIGSTOP'),
    thaw: () => void child.kill('SIGCONT'),
    async [Symbol.asyncDispose]() {
      await signalled('SIGKILL');
      rmSync(folder, { recursive: true });
    },
  };
  if (options.untilReady !== false) await ready(controller);
  return controller;
}

async function ready(controller: Controller): Promise<void> {
  const gone = controller.ended.then((code) => {
    throw new Error(`the controller ended with ${code}:\n${controller.lines.join('\n')}`);
  });
  const isReady = until(async () => (await controller.ask('/readyz')).status === 200, { what: 'the controller ready' });
  try {
    await Promise.race([gone, isReady]);
  } catch (error) {
    await controller[Symbol.asyncDispose]();
    throw new Error(`not ready:\n${controller.lines.join('\n')}`, { cause: error });
  } finally {
    gone.catch(() => {});
  }
}

function ask(host: string, path: string): Promise<{ readonly status: number; readonly body: string }> {
  return new Promise((resolve, reject) => {
    const sent = get({ host, port: PORT, path, agent: false, timeout: 5000 }, (answer) => {
      let body = '';
      answer.setEncoding('utf8');
      answer.on('data', (text: string) => {
        body += text;
      });
      answer.on('error', reject);
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body }));
    });
    sent.on('timeout', () => sent.destroy(new Error('no answer in time')));
    sent.on('error', reject);
  });
}

function sumOf(page: string, name: string, labels: Readonly<Record<string, string>>): number | undefined {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  const values = page.split('\n').flatMap((line) => {
    const [, series, inner = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    return series === name && wanted.every((pair) => inner.includes(pair)) ? [Number(value)] : [];
  });
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0);
}

const watched = (apiGroups: readonly string[], resources: readonly string[], ...verbs: string[]) => ({
  apiGroups,
  resources,
  verbs: ['list', 'watch', ...verbs],
});

/** What the plain manifests grant: the tests get along with what users get. */
const shipped = parseAllDocuments(readFileSync(new URL('../../deploy/attune.yaml', import.meta.url), 'utf8')).map(
  (document) => document.toJS() as { readonly kind: string; readonly rules: readonly object[] },
);
const rulesOf = (kind: 'ClusterRole' | 'Role') => shipped.find((object) => object.kind === kind)?.rules ?? [];

/** And what the chart adds when the flags ask for more. */
export const RULES: readonly object[] = [
  ...rulesOf('ClusterRole'),
  watched([''], ['namespaces']),
  watched(['secrets-store.csi.x-k8s.io'], ['secretproviderclasses', 'secretproviderclasspodstatuses']),
  watched(['argoproj.io'], ['rollouts'], 'get', 'patch'),
  watched(['apps.openshift.io'], ['deploymentconfigs'], 'get', 'patch'),
];
/** Who sees the whole cluster also sees what other tests do on purpose, and must not complain about it there. */
const isSilent = (rule: object): boolean => !('resources' in rule && String(rule.resources).includes('events'));
const OWN_RULES: readonly object[] = [
  ...rulesOf('Role'),
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['create'] },
  {
    apiGroups: ['coordination.k8s.io'],
    resources: ['leases'],
    resourceNames: ['stakater-reloader-lock'],
    verbs: ['get', 'watch', 'update'],
  },
];

/** Where a test plays: namespaces of its own, one for Attune, and a ServiceAccount with no more rights than the chart's. */
export interface Stage extends AsyncDisposable {
  /** Attune's own namespace. */
  readonly home: string;
  /** The first of the others. */
  readonly space: string;
  readonly spaces: readonly string[];
  /** Access of Attune's ServiceAccount. */
  readonly access: ApiAccess;
  /** A controller that watches the spaces, and no others unless the flags say so. */
  start(flags?: readonly string[], options?: StageStart): Promise<Controller>;
}

export interface StageStart extends Partial<StartOptions> {
  /** The namespaces to watch, if not all spaces. */
  readonly scope?: readonly string[];
}

export interface StageOptions {
  readonly spaces?: number;
  /** Rights in the whole cluster, and no scope given by itself: the test must see that only its own objects are meant. */
  readonly global?: boolean;
  /** Rules beside the chart's. */
  readonly rules?: readonly object[];
}

export async function stage(options: StageOptions = {}): Promise<Stage> {
  const id = randomBytes(4).toString('hex');
  const home = `home-${id}`;
  const spaces = Array.from({ length: options.spaces ?? 1 }, (_, n) => `space-${id}-${n}`);
  const [space = ''] = spaces;
  const admin = api();
  await Promise.all([home, ...spaces].map((name) => admin.create('/api/v1/namespaces', { metadata: { name } })));
  await admin.create(`/api/v1/namespaces/${home}/serviceaccounts`, { metadata: { name: 'attune' } });
  const rules = options.rules ?? (options.global ? RULES.filter(isSilent) : RULES);
  await Promise.all([
    grant(home, home, 'own', OWN_RULES),
    ...(options.global ? [grantEverywhere(home, rules)] : spaces.map((name) => grant(home, name, 'role', rules))),
  ]);
  const access = await serviceAccountAccess(home, 'attune');
  const mine = api(access);
  // Rights take a moment to be in force everywhere.
  await until(() => mine.find(`/api/v1/namespaces/${home}/secrets/attune-ledger-key`).then(() => true), {
    what: 'its own rights',
  });
  await Promise.all(
    spaces.map((name) =>
      until(() => mine.list(`/api/v1/namespaces/${name}/configmaps`), { what: `rights in ${name}` }),
    ),
  );
  return {
    home,
    space,
    spaces,
    access,
    start: (flags = [], start = {}) => {
      const { scope = options.global ? [] : spaces, ...rest } = start;
      const scoped = scope.length > 0 ? [`--namespaces=${scope.join(',')}`] : [];
      return startController({ home, access, ...rest, flags: [...scoped, ...flags] });
    },
    async [Symbol.asyncDispose]() {
      if (options.global) {
        await admin.delete(`/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/${home}`);
        await admin.delete(`/apis/rbac.authorization.k8s.io/v1/clusterroles/${home}`);
      }
      await Promise.all([home, ...spaces].map((name) => admin.delete(`/api/v1/namespaces/${name}`)));
    },
  };
}

const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const roleRef = (kind: 'Role' | 'ClusterRole', name: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind, name });
const subjects = (home: string) => [{ kind: 'ServiceAccount', name: 'attune', namespace: home }];

async function grant(home: string, namespace: string, name: string, rules: readonly object[]): Promise<void> {
  const path = `${RBAC}/namespaces/${namespace}`;
  await api().create(`${path}/roles`, { metadata: { name }, rules });
  await api().create(`${path}/rolebindings`, {
    metadata: { name },
    roleRef: roleRef('Role', name),
    subjects: subjects(home),
  });
}

async function grantEverywhere(home: string, rules: readonly object[]): Promise<void> {
  const metadata = { name: home };
  await api().create(`${RBAC}/clusterroles`, { metadata, rules });
  await api().create(`${RBAC}/clusterrolebindings`, {
    metadata,
    roleRef: roleRef('ClusterRole', home),
    subjects: subjects(home),
  });
}
