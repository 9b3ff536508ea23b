import { type SourceKey, type SourceRef, sourceKey } from '../../api/sources.ts';
import type { Origin } from '../../domain/asks/ask.ts';
import { judge } from '../../domain/judge/judge.ts';
import type { Policy } from '../../domain/judge/verdict.ts';
import type { ConfigRef, ConfigTarget, ReloaderConfig } from '../../domain/reloader-config/config.ts';
import { mayName, namesSource } from '../../domain/reloader-config/config-asks.ts';
import { type Workload, workloadKey } from '../../domain/workload/workload.ts';
import { staysOpen } from '../../model/concerns.ts';
import type { ReloaderConfigs } from '../../model/reloader-configs/reloader-configs.ts';
import type { SourceHistory } from '../../model/sources/source-history.ts';

export interface WantedDeps {
  readonly configs: ReloaderConfigs;
  readonly sources: SourceHistory;
  readonly policy: Policy;
  readonly inScope: (namespace: string) => boolean;
}

/** A target that exists, and which sources the config wants for it. */
export interface Wanting {
  readonly target: ConfigTarget;
  readonly workload: Workload;
  readonly wants: (ref: SourceRef) => boolean;
}

export const isAskOf = (origin: Origin, { namespace, name }: ConfigRef): boolean =>
  origin.by === 'config' && origin.namespace === namespace && origin.name === name;

/** Whether a config wants a source for a workload, whoever else does. */
export function wantedBy({ configs, sources, policy }: WantedDeps, config: ConfigRef, workload: Workload) {
  const asks = configs.asksFor(workloadKey(workload.ref)).filter(({ origin }) => isAskOf(origin, config));
  const alone = { ...workload, intent: { ...workload.intent, asks } };
  return (ref: SourceRef): boolean => staysOpen(judge(alone, { ref, ...sources.flags(ref) }, policy));
}

/**
 * The sources that exist and that a config wants for any of its targets; `targets` are those that are seen. The others may
 * want every source that the config names.
 */
export function wantedSources(
  deps: WantedDeps,
  config: ReloaderConfig,
  targets: readonly Wanting[],
): readonly SourceRef[] {
  const found = new Map<SourceKey, SourceRef>();
  const hasUnseen = targets.length < config.targets.length;
  // What a config names it names for all targets: mostly the first one settles it.
  const free = targets.filter(({ target }) => !target.mustReference);
  for (const ref of named(deps, config)) {
    const isWanted = hasUnseen
      ? namesSource(config, ref, deps.sources.flags(ref))
      : free.some(({ wants }) => wants(ref));
    if (isWanted) found.set(sourceKey(ref), ref);
  }
  for (const { target, workload, wants } of targets) {
    if (!target.mustReference && !config.autoReloadAll) continue;
    const { namespace } = workload.ref;
    for (const { kind, name } of workload.references) {
      const ref: SourceRef = { kind, namespace, name };
      if (deps.sources.get(ref) && !found.has(sourceKey(ref)) && wants(ref)) found.set(sourceKey(ref), ref);
    }
  }
  return [...found.values()];
}

/** What is there of the names of a config, or where labels decide, of its namespaces. */
function* named(deps: WantedDeps, config: ReloaderConfig): Generator<SourceRef> {
  for (const kind of ['ConfigMap', 'Secret'] as const) {
    for (const namespace of deps.configs.sourceNamespaces(config))
      if (deps.inScope(namespace)) yield* namedIn(deps.sources, config, kind, namespace);
  }
}

function* namedIn(
  sources: SourceHistory,
  config: ReloaderConfig,
  kind: 'ConfigMap' | 'Secret',
  namespace: string,
): Generator<SourceRef> {
  const patterns = config.names[kind];
  if (config.resourceSelector === undefined && patterns.every(({ literal }) => literal !== undefined)) {
    const refs = patterns.map(({ text: name }): SourceRef => ({ kind, namespace, name }));
    return yield* refs.filter((ref) => sources.get(ref));
  }
  for (const { ref } of sources.inNamespace(kind, namespace)) if (mayName(config, ref)) yield ref;
}
