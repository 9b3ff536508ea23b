import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { crd as redisCluster } from '../../src/api/redis-cluster/crd.ts';
import { crd } from '../../src/api/reloader-config/crd.ts';
import type { ApiAccess } from '../../src/sandbox/control-plane/api-request.ts';
import { ApiRefusal, api, controlPlane } from './sandbox.ts';
import { until } from './wait.ts';

interface Definition {
  readonly module: string;
  readonly file: string;
}

const csi = (plural: string): Definition => ({
  module: 'sigs.k8s.io/secrets-store-csi-driver',
  file: `config/crd/bases/secrets-store.csi.x-k8s.io_${plural}.yaml`,
});

const DEFINITIONS = {
  Rollout: { module: 'github.com/argoproj/argo-rollouts', file: 'manifests/crds/rollout-crd.yaml' },
  SecretProviderClass: csi('secretproviderclasses'),
  SecretProviderClassPodStatus: csi('secretproviderclasspodstatuses'),
} as const;

export type CustomKind = keyof typeof DEFINITIONS | 'DeploymentConfig' | 'ReloaderConfig' | 'RedisCluster';

/** Makes the API server serve the given kinds; harmless where they are served already. */
export async function installKinds(kinds: readonly CustomKind[], access: ApiAccess = controlPlane()): Promise<void> {
  await Promise.all(kinds.map((kind) => install(kind, access)));
}

async function install(kind: CustomKind, access: ApiAccess): Promise<void> {
  const admin = api(access);
  const definition = await definitionOf(kind);
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  try {
    await admin.create(path, definition);
  } catch (error) {
    if (!(error instanceof ApiRefusal && error.status === 409)) throw error;
  }
  const { group, names, versions } = definition.spec;
  const version = versions.find(({ served }) => served)?.name;
  // Established is said a moment before the kind is really served, and before discovery names it: ask both.
  const isServed = async (): Promise<boolean> => {
    await admin.list(`/apis/${group}/${version}/${names.plural}`);
    const { versions: known } = (await admin.get(`/apis/${group}`)) as Partial<ApiGroup>;
    const { resources } = (await admin.get(`/apis/${group}/${version}`)) as Partial<ApiResources>;
    const isKnown = known?.some((each) => each.version === version) ?? false;
    return isKnown && (resources?.some(({ name }) => name === names.plural) ?? false);
  };
  await until(isServed, { what: `${kind} being served` });
}

async function definitionOf(kind: CustomKind): Promise<CustomResourceDefinition> {
  if (kind === 'ReloaderConfig') return crd();
  if (kind === 'RedisCluster') return redisCluster();
  return kind === 'DeploymentConfig' ? deploymentConfig() : await fromModule(DEFINITIONS[kind]);
}

interface CustomResourceDefinition {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly group: string;
    readonly names: { readonly plural: string };
    readonly versions: readonly { readonly name: string; readonly served: boolean }[];
  };
}

interface ApiGroup {
  readonly versions: readonly { readonly version: string }[];
}

interface ApiResources {
  readonly resources: readonly { readonly name: string }[];
}

/** The definitions are data of Go modules, pinned like programs. */
async function fromModule({ module, file }: Definition): Promise<CustomResourceDefinition> {
  const cwd = fileURLToPath(new URL('../../go/crds', import.meta.url));
  const { stdout } = await promisify(execFile)('go', ['mod', 'download', '-json', module], { cwd });
  const { Dir: folder } = JSON.parse(stdout) as { readonly Dir: string };
  return parse(readFileSync(join(folder, file), 'utf8'));
}

/** OpenShift publishes no definition, as it serves the kind from a server of its own: anything goes here. */
function deploymentConfig(): CustomResourceDefinition {
  const definition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'deploymentconfigs.apps.openshift.io' },
    spec: {
      group: 'apps.openshift.io',
      scope: 'Namespaced',
      names: {
        kind: 'DeploymentConfig',
        listKind: 'DeploymentConfigList',
        plural: 'deploymentconfigs',
        singular: 'deploymentconfig',
        shortNames: ['dc'],
      },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          subresources: {
            status: {},
            scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' },
          },
          schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
        },
      ],
    },
  };
  return definition;
}
