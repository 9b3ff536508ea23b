import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { env as environment, pid, stderr } from 'node:process';
import { createInterface } from 'node:readline';
import { afterAll, expect, inject, onTestFinished } from 'vitest';
import { type ApiAccess, apiRequest } from '../../src/sandbox/control-plane/api-request.ts';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/sandbox.ts';
import { until } from './wait.ts';

/** What a test needs to reach a control plane; the token is an administrator's. */
export interface ControlPlane extends ApiAccess {
  readonly name: string;
  readonly dir: string;
  readonly kubeconfig: string;
  readonly auditLog: string;
}

/** The control plane that all e2e tests of a run share. */
export function controlPlane(): ControlPlane {
  return inject('controlPlane');
}

/** A control plane of the test's own, for tests that kill parts of it or fill its disk. Ends with the test, or the file. */
export async function ownControlPlane(
  options: Partial<SandboxOptions> = {},
): Promise<{ readonly plane: ControlPlane; readonly sandbox: Sandbox }> {
  const name = `test-${pid}-${randomBytes(3).toString('hex')}`;
  const say = (line: string) => void stderr.write(`sandbox ${name}: ${line}\n`);
  const sandbox = await startSandbox({ name, env: environment, owned: true, ...options }, say);
  atEnd(() => sandbox.stop());
  const { dir, server, kubeconfig, auditLog, caFile, adminToken: token } = sandbox;
  const authority = readFileSync(caFile, 'utf8');
  return { plane: { name, dir, server, kubeconfig, auditLog, token, authority }, sandbox };
}

/** After the test that is running, or the whole file where none is: within a test `afterAll` would be heard by nobody. */
function atEnd(work: () => Promise<void>): void {
  if (expect.getState().currentTestName === undefined) afterAll(work);
  else onTestFinished(work, 120_000);
}

/** As much of an object as a test reads without saying more about it. */
export interface AnyObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly generation?: number;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly deletionTimestamp?: string;
  };
  // biome-ignore lint/suspicious/noExplicitAny: a test looks at fields of a hundred kinds
  readonly [field: string]: any;
}

/** The API server said no. */
export class ApiRefusal extends Error {
  readonly status: number;

  constructor(request: string, status: number, text: string) {
    super(`${request}: ${status} ${text.slice(0, 500)}`);
    this.status = status;
  }
}

export type PatchType = 'merge' | 'json' | 'strategic' | 'apply';

const PATCH_TYPES: Readonly<Record<PatchType, string>> = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
};

/** Requests by path, raw JSON in and out; a refusal throws. */
export function api(access: ApiAccess = controlPlane()) {
  const call = async (method: string, path: string, body?: unknown, contentType?: string) => {
    const options = { body, ...(contentType ? { contentType } : {}), timeoutMs: 30_000 };
    const { status, text } = await apiRequest(access, method, path, options);
    if (status >= 300) throw new ApiRefusal(`${method} ${path}`, status, text);
    return JSON.parse(text) as AnyObject;
  };
  return {
    get: (path: string) => call('GET', path),
    /** undefined instead of a 404. */
    find: (path: string) =>
      call('GET', path).catch((error: unknown) => {
        if (error instanceof ApiRefusal && error.status === 404) return undefined;
        throw error;
      }),
    list: async (path: string) => (await call('GET', path))['items'] as readonly AnyObject[],
    create: (path: string, body: unknown) => call('POST', path, body),
    replace: (path: string, body: unknown) => call('PUT', path, body),
    patch: (path: string, body: unknown, type: PatchType = 'merge') => call('PATCH', path, body, PATCH_TYPES[type]),
    delete: (path: string) => call('DELETE', path),
  } as const;
}

/** A new namespace, deleted after the test file; call it once per file. */
export async function namespace(prefix: string, access: ApiAccess = controlPlane()): Promise<string> {
  const name = `${prefix}-${randomBytes(4).toString('hex')}`;
  const admin = api(access);
  await admin.create('/api/v1/namespaces', { metadata: { name } });
  afterAll(async () => {
    await admin.delete(`/api/v1/namespaces/${name}`);
  });
  const account = `/api/v1/namespaces/${name}/serviceaccounts/default`;
  await until(() => admin.find(account), { what: `the ServiceAccount of namespace ${name}` });
  return name;
}

/** The access of a ServiceAccount, by a token that the API server issued for it. */
export async function serviceAccountAccess(
  namespaceName: string,
  name: string,
  access: ApiAccess = controlPlane(),
): Promise<ApiAccess> {
  const path = `/api/v1/namespaces/${namespaceName}/serviceaccounts/${name}/token`;
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
  const { status } = (await api(access).create(path, request)) as unknown as { status: { token: string } };
  return { ...access, token: status.token };
}

interface Rule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs?: readonly string[];
}

/** A ServiceAccount that may do what `rules` say in the whole cluster, and nothing else. */
export async function serviceAccount(
  namespaceName: string,
  name: string,
  rules: readonly Rule[],
  access: ApiAccess = controlPlane(),
): Promise<ApiAccess> {
  const admin = api(access);
  const roles = '/apis/rbac.authorization.k8s.io/v1';
  const role = `${namespaceName}-${name}`;
  await admin.create(`/api/v1/namespaces/${namespaceName}/serviceaccounts`, { metadata: { name } });
  await admin.create(`${roles}/clusterroles`, { metadata: { name: role }, rules });
  await admin.create(`${roles}/clusterrolebindings`, {
    metadata: { name: role },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
    subjects: [{ kind: 'ServiceAccount', name, namespace: namespaceName }],
  });
  afterAll(async () => {
    await admin.delete(`${roles}/clusterrolebindings/${role}`);
    await admin.delete(`${roles}/clusterroles/${role}`);
  });
  const account = await serviceAccountAccess(namespaceName, name, access);
  await untilGranted(account, namespaceName, rules);
  return account;
}

/** The server acts by its own copy of roles and bindings, which is a moment behind. */
async function untilGranted(account: ApiAccess, namespaceName: string, rules: readonly Rule[]): Promise<void> {
  const [rule] = rules;
  if (rule?.resources === undefined) return;
  const [resource = '', subresource] = rule.resources[0]?.split('/') ?? [];
  const resourceAttributes = {
    namespace: namespaceName,
    group: rule.apiGroups?.[0] ?? '',
    resource,
    subresource,
    verb: rule.verbs?.[0] ?? '',
    name: rule.resourceNames?.[0],
  };
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes },
  };
  const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
  const isAllowed = async () =>
    ((await api(account).create(path, review)) as unknown as { status: { allowed: boolean } }).status.allowed;
  await until(isAllowed, { what: `the rights of a ServiceAccount in namespace ${namespaceName}` });
}

/** A program that a test runs beside itself. */
export interface Program {
  readonly pid: number;
  /** Everything that it printed so far, both streams, by line. */
  readonly lines: readonly string[];
  /** The exit code, or the signal's name. */
  readonly ended: Promise<number | string>;
  kill9(): Promise<void>;
  /** SIGTERM; gives the exit code. */
  terminate(): Promise<number | string>;
}

/** Starts a program; whatever happens, it is gone after the test file. */
export function runProgram(argv: readonly string[], env: Readonly<Record<string, string>> = {}): Program {
  const [file = '', ...args] = argv;
  const child = spawn(file, args, { env: { ...environment, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  createInterface({ input: child.stderr }).on('line', (line) => lines.push(line));
  const ended = new Promise<number | string>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve(signal ?? code ?? 0));
  });
  const stop = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    return await ended;
  };
  afterAll(() => stop('SIGKILL'));
  return {
    pid: child.pid ?? 0,
    lines,
    ended,
    kill9: async () => void (await stop('SIGKILL')),
    terminate: () => stop('SIGTERM'),
  };
}
