import type { AnnotationKeys } from '../api/annotations.ts';
import type { KindName } from '../api/kinds.ts';

/** Which namespaces are watched. */
export type WatchedNamespaces =
  | { readonly mode: 'global'; readonly ignore: readonly string[]; readonly selector: string | undefined }
  /** Nothing cluster-wide is asked for: Roles in these namespaces are enough. */
  | { readonly mode: 'namespaces'; readonly namespaces: readonly string[] };

/** What the controller needs to know of the flags. */
export interface ControllerOptions {
  /** As Stakater Reloader. */
  readonly compat: boolean;
  /** As SAP pod-reloader, for workloads with its annotations. */
  readonly sapCompat: boolean;
  readonly scope: WatchedNamespaces;
  readonly resourceLabelSelector: string | undefined;
  readonly resourcesToIgnore: ReadonlySet<'configmaps' | 'secrets'>;
  readonly enableCsiIntegration: boolean;
  readonly watchHelmSecrets: boolean;
  readonly autoReloadAll: boolean;
  readonly reloadOnCreate: boolean;
  readonly reloadOnDelete: boolean;
  readonly isArgoRollouts: boolean;
  readonly ignoredKinds: ReadonlySet<KindName>;
  readonly keys: AnnotationKeys;
  readonly reloadStrategy: 'env-vars' | 'annotations';
  /** Whether ReloaderConfigs are followed. */
  readonly reloaderConfig: boolean;
  /** Where a ReloaderConfig does not say. */
  readonly rolloutStrategy: 'rollout' | 'restart';
  /** By namespace, those whose ReloaderConfigs may name what is in it; `*`: all. */
  readonly allowReloads: ReadonlyMap<string, ReadonlySet<string>>;
  readonly quietPeriodMs: number;
  readonly maxWaitMs: number;
  readonly catchUpMaxMs: number;
  readonly concurrency: number;
  readonly metricsByNamespace: boolean;
  readonly enableHa: boolean;
  readonly podName: string;
  readonly podNamespace: string;
  /** Our own namespace; '': nobody told us, and nothing is kept. */
  readonly ownNamespace: string;
}
