import type { SourceRef } from '../../api/sources.ts';
import { ignores } from '../../domain/asks/ask.ts';
import type { ControllerOptions } from '../../domain/controller-options.ts';
import type { ReloaderConfig } from '../../domain/reloader-config/config.ts';
import type { MissingSource } from '../../domain/reloader-config/status-facts.ts';
import {
  type NotWatched,
  namespaceNotWatchedBecause,
  notSelected,
  sourceNotWatchedBecause,
} from '../../domain/watch-scope.ts';
import type { Listed } from '../../model/listed.ts';
import type { ReloaderConfigs } from '../../model/reloader-configs/reloader-configs.ts';
import type { SourceHistory } from '../../model/sources/source-history.ts';

export interface SeenScope {
  readonly options: ControllerOptions;
  readonly inScope: (namespace: string) => boolean;
}

interface MissingDeps extends SeenScope {
  readonly configs: ReloaderConfigs;
  readonly sources: SourceHistory;
  readonly listed: Pick<Listed, 'has'>;
}

/** Exact names of a config of which nothing is found in any of its namespaces. Expressions may match nothing. */
export function missingSources(deps: MissingDeps, config: ReloaderConfig): readonly MissingSource[] {
  const namespaces = deps.configs.sourceNamespaces(config);
  const isLeftOut = (ref: SourceRef): boolean => ignores({ ignored: config.ignored }, ref);
  return (['ConfigMap', 'Secret'] as const).flatMap((kind) =>
    config.names[kind].flatMap(({ literal: name }) => {
      if (name === undefined) return [];
      const refs = namespaces.map((namespace): SourceRef => ({ kind, namespace, name }));
      const meant = refs.filter((ref) => !isLeftOut(ref));
      const seen = meant.filter((ref) => deps.sources.get(ref));
      if (meant.length === 0 || seen.some(({ namespace }) => deps.inScope(namespace))) return [];
      const unwatched = unwatchedText(deps, seen.length > 0 ? seen : meant);
      return [{ ref: { kind, name }, namespaces, unwatched }];
    }),
  );
}

/** Undefined: it would have been seen somewhere. */
function unwatchedText(deps: MissingDeps, refs: readonly SourceRef[]): string | undefined {
  const { options, inScope, listed } = deps;
  const reasons = refs.map((ref) => {
    const all = [
      ...sourceNotWatchedBecause(ref, undefined, options),
      ...namespaceUnwatched({ options, inScope }, ref.namespace),
    ];
    return all.length > 0 || listed.has(ref) ? wordsOf(all) : 'Attune may not list it';
  });
  const [why] = reasons;
  if (reasons.every((each) => each !== undefined)) return `is not watched: ${why}`;
  const { resourceLabelSelector: selector } = options;
  return selector && `is absent, or its labels do not match --resource-label-selector=${selector}`;
}

/** Why nothing of a namespace is seen. */
export function namespaceUnwatched({ options, inScope }: SeenScope, namespace: string): readonly NotWatched[] {
  const found = namespaceNotWatchedBecause(namespace, undefined, options);
  const { scope } = options;
  if (inScope(namespace) || scope.mode !== 'global' || scope.selector === undefined) return found;
  return [...found, notSelected(namespace, scope.selector)];
}

/** Undefined: there is nothing to say. */
export const wordsOf = (all: readonly NotWatched[]): string | undefined =>
  all.length === 0 ? undefined : all.map(({ rule, cure }) => `${rule} (${cure})`).join(', ');
