import { setTimeout as delay } from 'node:timers/promises';
import { objectAt } from '../../api/json.ts';
import { crd } from '../../api/reloader-config/crd.ts';
import type { ReloaderConfigSpec } from '../../api/reloader-config/spec-fields.ts';
import { RELOADER_CONFIGS, type Resource } from '../../api/resources.ts';
import type { KubeClient } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { create, DEMO } from './demo.ts';

const INTERVAL_MS = 100;
const DEADLINE_MS = 60_000;

const DEFINITIONS: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
};

/** A Deployment that asks for nothing, and a ConfigMap that it does not even use. */
export const DEMO_CONFIG = { name: 'worker', configMap: 'features' };

const SPEC: ReloaderConfigSpec = {
  watchedResources: { configMaps: [DEMO_CONFIG.configMap] },
  targets: [{ kind: 'Deployment', name: DEMO_CONFIG.name }],
};

/** Makes the API server serve ReloaderConfigs. */
export async function installDefinition(client: KubeClient, signal: AbortSignal): Promise<void> {
  await create(client, DEFINITIONS, crd());
  await until('ReloaderConfigs being served', signal, async () => {
    try {
      for await (const _ of client.list(RELOADER_CONFIGS, { namespace: DEMO })) return true;
      return true;
    } catch (error) {
      if (KubeError.is(error, 'NotFound')) return false;
      throw error;
    }
  });
}

/** Resolves when the controller has said in its status that it follows it. */
export async function createConfig(client: KubeClient, signal: AbortSignal): Promise<void> {
  const ref = { namespace: DEMO, name: DEMO_CONFIG.name };
  await create(client, RELOADER_CONFIGS, { metadata: ref, spec: SPEC });
  await until('the ReloaderConfig being followed', signal, async () => {
    const { observedGeneration } = objectAt(await client.get(RELOADER_CONFIGS, ref), ['status']);
    return observedGeneration !== undefined;
  });
}

async function until(what: string, signal: AbortSignal, isSo: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS;
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`a minute was not enough for ${what}`);
    await delay(INTERVAL_MS, undefined, { signal });
  }
}
