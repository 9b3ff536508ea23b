import { readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import type { Access, Api, Manifest } from './api.ts';
import { createAll } from './objects.ts';

/** A controller that takes part: ours, or a peer. */
export interface Contender {
  readonly name: string;
  /** For the shell; `{flags}` stands for Stakater Reloader's flags that a scenario needs. */
  readonly command: string;
  /** The same for its agent for Redis; unless told it is `command` with `{flags}` as its words. */
  readonly agent?: string;
  /** What ours is started with when a change is to be carried out at once. */
  readonly atOnce: readonly string[];
  readonly rights: 'of the chart' | 'all';
}

/** The name in the audit log by which a contender's calls are told apart. */
export function userOf(name: string): string {
  return `system:serviceaccount:${namespaceOf(name)}:${name}`;
}

export function namespaceOf(name: string): string {
  return name === 'attune' ? 'attune' : `bench-${name}`;
}

/** The command line for a scenario; undefined where the contender cannot be told what the scenario needs. */
export function commandOf(contender: Contender, flags: readonly string[], atOnce: boolean): string | undefined {
  if (flags.length > 0 && !contender.command.includes('{flags}')) return undefined;
  const all = atOnce ? [...contender.atOnce, ...flags] : flags;
  return contender.command.replaceAll('{flags}', all.join(' '));
}

/** The command line of its agent for Redis; undefined where it cannot be told to be one. */
export function agentCommandOf({ agent, command }: Contender): string | undefined {
  if (agent !== undefined) return agent;
  return command.includes('{flags}') ? command.replaceAll('{flags}', 'agent redis') : undefined;
}

const REDIS_IMAGE = new URL('../Containerfile.redis', import.meta.url);

/** The command line of the agent for Redis as its image has it, for another Node and another bundle. */
export function imageAgent(node: string, bundle: string): string {
  const lines = readFileSync(REDIS_IMAGE, 'utf8').split('\n');
  const variables = lines.flatMap((line) => /^ENV (?!PATH=)(\S+)$/.exec(line)?.[1] ?? []);
  const entry = lines.flatMap((line) => /^ENTRYPOINT (.*)$/.exec(line)?.[1] ?? [])[0] ?? '[]';
  const words = JSON.parse(entry) as readonly string[];
  const [runs, program] = [words.indexOf('/usr/local/bin/node'), words.indexOf('/app/attune.mjs')];
  if (runs < 0 || program < runs) throw new Error('the image for Redis does not run Node with the bundle');
  const command = [node, ...words.slice(runs + 1, program), bundle, ...words.slice(program + 1)];
  return ['env', ...variables, ...command].map((word) => `'${word}'`).join(' ');
}

/** What an account may do: as people give it, everything, or by objects that say it and make the account. */
export type Rights = Contender['rights'] | readonly Manifest[];

/** Gives a contender a ServiceAccount of its own, and says how it reaches the API server. */
export async function createServiceAccount(api: Api, name: string, rights: Rights): Promise<Access> {
  const namespace = namespaceOf(name);
  await createAll(api, [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }]);
  if (rights === 'of the chart') {
    for (const object of [...chartObjects(), ...leaseRights(namespace, name)]) await createAll(api, [object]);
  } else {
    await createAll(api, rights === 'all' ? allRights(namespace, name) : rights);
  }
  const request = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { expirationSeconds: 86_400 },
  };
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
  const { text } = await api.call('POST', path, request);
  const { status } = JSON.parse(text) as { readonly status: { readonly token: string } };
  return { ...api.access, token: status.token };
}

const MANIFESTS = new URL('../deploy/attune.yaml', import.meta.url);
const NEEDED = ['Namespace', 'ServiceAccount', 'ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding'];

function manifests(): Manifest[] {
  return parseAllDocuments(readFileSync(MANIFESTS, 'utf8')).map((document) => document.toJS() as Manifest);
}

/** The rights that people give it, no others: a call that they do not allow must fail here too. */
function chartObjects(): Manifest[] {
  return manifests().filter(({ kind }) => NEEDED.includes(kind));
}

/** The options of the runtime with which people run it. */
export function chartNodeOptions(): string {
  const deployment = manifests().find(({ kind }) => kind === 'Deployment') as unknown as {
    readonly spec: { readonly template: { readonly spec: { readonly containers: readonly ChartContainer[] } } };
  };
  const [container] = deployment.spec.template.spec.containers;
  const options = container?.env.find(({ name }) => name === 'NODE_OPTIONS')?.value;
  if (options === undefined) throw new Error('the manifests set no NODE_OPTIONS');
  return options;
}

interface ChartContainer {
  readonly env: readonly { readonly name: string; readonly value?: string }[];
}

/** What the chart adds when there is more than one copy. */
function leaseRights(namespace: string, name: string): Manifest[] {
  const rbac = 'rbac.authorization.k8s.io';
  const metadata = { namespace, name: `${name}-lease` };
  const verbs = ['create', 'get', 'watch', 'update'];
  return [
    {
      apiVersion: `${rbac}/v1`,
      kind: 'Role',
      metadata,
      rules: [{ apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs }],
    },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: rbac, kind: 'Role', name: metadata.name },
      subjects: [{ kind: 'ServiceAccount', namespace, name }],
    },
  ];
}

function allRights(namespace: string, name: string): Manifest[] {
  const rbac = 'rbac.authorization.k8s.io';
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { namespace, name } },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name: namespace },
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'ServiceAccount', namespace, name }],
    },
  ];
}
