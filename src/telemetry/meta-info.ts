/** The settings that Stakater publishes about itself. */
export interface MetaInfoSettings {
  readonly autoReloadAll: boolean;
  readonly keys: MetaInfoKeys;
  readonly logFormat: string;
  readonly logLevel: string;
  readonly isArgoRollouts: boolean;
  readonly reloadStrategy: string;
  readonly reloadOnCreate: boolean;
  readonly reloadOnDelete: boolean;
  readonly syncAfterRestart: boolean;
  readonly enableHa: boolean;
  readonly enableCsiIntegration: boolean;
  readonly webhookUrl: string;
  readonly resourcesToIgnore: Iterable<string>;
  readonly ignoredWorkloadTypes: readonly string[];
  readonly scope: {
    readonly mode: string;
    readonly ignore?: readonly string[];
    readonly selector?: string | undefined;
  };
  readonly resourceLabelSelector: string | undefined;
  readonly enablePprof: boolean;
  readonly pprofAddr: string;
  readonly deploymentName: string;
  readonly metaInfoNamespace: string;
}

interface ByKind {
  readonly ConfigMap: string;
  readonly Secret: string;
  readonly SecretProviderClass: string;
}

interface MetaInfoKeys {
  readonly auto: string;
  readonly search: string;
  readonly match: string;
  readonly ignore: string;
  readonly pausePeriod: string;
  readonly pausedAt: string;
  readonly named: ByKind;
  readonly typedAuto: ByKind;
  readonly exclude: ByKind;
}

export interface Build {
  readonly version: string;
  readonly commit: string;
  /** RFC 3339; '': unknown. */
  readonly commitTime: string;
  /** process.version */
  readonly nodeVersion: string;
}

/** `data` of the ConfigMap reloader-meta-info: three JSON texts with Stakater's keys in Stakater's order. */
export function metaInfo(
  settings: MetaInfoSettings,
  build: Build,
): Record<'buildInfo' | 'reloaderOptions' | 'deploymentInfo', string> {
  return {
    buildInfo: JSON.stringify({
      // The key is Stakater's, and there is no Go here.
      goVersion: `node ${build.nodeVersion}`,
      releaseVersion: build.version,
      commitHash: build.commit,
      commitTime: build.commitTime || '0001-01-01T00:00:00Z',
      edition: 'oss',
    }),
    reloaderOptions: JSON.stringify(optionsOf(settings)),
    deploymentInfo: JSON.stringify({ name: settings.deploymentName, namespace: settings.metaInfoNamespace }),
  };
}

function optionsOf(settings: MetaInfoSettings) {
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
    namespaceSelectors: listOf(scope.selector),
    resourceSelectors: listOf(settings.resourceLabelSelector),
    namespacesToIgnore: scope.ignore ?? [],
    enablePProf: settings.enablePprof,
    pprofAddr: settings.pprofAddr,
  };
}

const listOf = (text: string | undefined): readonly string[] => (text ? [text] : []);
