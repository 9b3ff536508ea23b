import { CONFIG_MAPS } from '../../api/resources.ts';
import type { Settings } from '../../config/settings.ts';
import type { KubeClient } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import type { Log } from '../../telemetry/log.ts';
import { VERSION } from '../version.ts';

const NAME = 'reloader-meta-info';

/** Publishes version and settings as upstream does; tools read it. */
export async function publishMetaInfo(client: KubeClient, settings: Settings, log: Log): Promise<void> {
  const namespace = settings.metaInfoNamespace;
  if (namespace === '') return;
  const body = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: NAME, namespace, labels: { 'reloader.stakater.com/meta-info': 'reloader' } },
    data: metaInfo(settings),
  };
  try {
    await write(client, namespace, body);
  } catch (error) {
    log.warn(`${NAME} was not written: ${error instanceof Error ? error.message : String(error)}`);
  }
}

async function write(client: KubeClient, namespace: string, body: unknown): Promise<void> {
  try {
    await client.replace(CONFIG_MAPS, { namespace, name: NAME }, body);
  } catch (error) {
    if (!KubeError.is(error, 'NotFound')) throw error;
    await client.create(CONFIG_MAPS, namespace, body);
  }
}

/** `data` of the ConfigMap reloader-meta-info: three JSON texts with Stakater's keys in Stakater's order. */
export function metaInfo(settings: Settings): Record<'buildInfo' | 'reloaderOptions' | 'deploymentInfo', string> {
  return {
    buildInfo: JSON.stringify({
      // The key is Stakater's, and there is no Go here.
      goVersion: `node ${process.version}`,
      releaseVersion: VERSION,
      commitHash: '',
      commitTime: '0001-01-01T00:00:00Z',
      edition: 'oss',
    }),
    reloaderOptions: JSON.stringify(optionsOf(settings)),
    deploymentInfo: JSON.stringify({ name: settings.deploymentName, namespace: settings.metaInfoNamespace }),
  };
}

function optionsOf(settings: Settings) {
  const { keys, scope } = settings;
  return {
    autoReloadAll: settings.autoReloadAll,
    configmapUpdateOnChangeAnnotation: keys.named.ConfigMap,
    secretUpdateOnChangeAnnotation: keys.named.Secret,
    secretProviderClassUpdateOnChangeAnnotation: keys.named.SecretProviderClass,
    reloaderAutoAnnotation: keys.auto,
    ignoreResourceAnnotation: keys.ignore,
    configmapReloaderAutoAnnotation: keys.typedAuto.ConfigMap,
    secretReloaderAutoAnnotation: keys.typedAuto.Secret,
    secretProviderClassReloaderAutoAnnotation: keys.typedAuto.SecretProviderClass,
    configmapExcludeReloaderAnnotation: keys.exclude.ConfigMap,
    secretExcludeReloaderAnnotation: keys.exclude.Secret,
    secretProviderClassExcludeReloaderAnnotation: keys.exclude.SecretProviderClass,
    autoSearchAnnotation: keys.search,
    searchMatchAnnotation: keys.match,
    rolloutStrategyAnnotation: 'reloader.stakater.com/rollout-strategy',
    pauseDeploymentAnnotation: keys.pausePeriod,
    pauseDeploymentTimeAnnotation: keys.pausedAt,
    logFormat: settings.logFormat,
    logLevel: settings.logLevel,
    isArgoRollouts: settings.isArgoRollouts,
    reloadStrategy: settings.reloadStrategy,
    reloadOnCreate: settings.reloadOnCreate,
    reloadOnDelete: settings.reloadOnDelete,
    syncAfterRestart: settings.syncAfterRestart,
    enableHA: settings.enableHa,
    enableCSIIntegration: settings.enableCsiIntegration,
    // A webhook's URL is often its password, and everybody in the namespace can read this.
    webhookUrl: settings.webhookUrl === '' ? '' : 'set',
    resourcesToIgnore: [...settings.resourcesToIgnore],
    workloadTypesToIgnore: settings.ignoredWorkloadTypes,
    namespaceSelectors: listOf('selector' in scope ? scope.selector : undefined),
    resourceSelectors: listOf(settings.resourceLabelSelector),
    namespacesToIgnore: 'ignore' in scope ? scope.ignore : [],
    enablePProf: settings.enablePprof,
    pprofAddr: settings.pprofAddr,
  };
}

const listOf = (text: string | undefined): readonly string[] => (text ? [text] : []);
