import { kindNamed } from '../../api/kinds.ts';
import { SOURCE_KINDS, type SourceRef } from '../../api/sources.ts';
import { type Ask, ignores, type Overrides, type RolloutStrategy, type Wants } from '../asks/ask.ts';
import { matchesOne } from '../asks/name-pattern.ts';
import type { SourceFlags } from '../source/source.ts';
import { matches } from '../text/selector.ts';
import type { ConfigTarget, ReloaderConfig } from './config.ts';

export interface AskRules {
  /** Where a config does not say. */
  readonly rolloutStrategy: RolloutStrategy;
}

/** What a CronJob or Job runs comes and goes: the flag does not mean them. */
const hasPods = ({ ref }: ConfigTarget): boolean => kindNamed(ref.kind)?.effect === 'patch';

const LISTS = { ConfigMap: 'configMaps', Secret: 'secrets' } as const;
const LISTED = ['ConfigMap', 'Secret'] as const;

/**
 * What a ReloaderConfig asks for one of its targets; `namespaces`: where its sources may be. From here on it is a dialect
 * like any other.
 */
export function asksOf(
  config: ReloaderConfig,
  target: ConfigTarget,
  namespaces: readonly string[],
  rules: AskRules,
): readonly Ask[] {
  if (config.isIgnored) return [];
  const overrides: Overrides = {
    strategy: target.reloadStrategy,
    rolloutStrategy: target.rolloutStrategy ?? (hasPods(target) ? rules.rolloutStrategy : 'rollout'),
    cooldownMs: target.pausePeriodMs,
    ...config.lifecycle,
  };
  const limits = { labels: config.matchLabels, ignored: config.ignored, mustBeUsed: target.mustReference };
  const ask = (path: string, wants: Wants): Ask => ({
    because: 'reloader-config',
    origin: { by: 'config', ...config.ref, path },
    wants,
    overrides,
    limits,
    askedSince: config.askedSince,
    ...(!config.alerts && { isSilent: true }),
  });
  const asks: Ask[] = [];
  for (const kind of LISTED) {
    const patterns = config.names[kind];
    if (patterns.length === 0) continue;
    asks.push(ask(`spec.watchedResources.${LISTS[kind]}`, { what: 'named', kind, patterns, namespaces }));
  }
  const selector = config.resourceSelector;
  for (const kind of selector ? LISTED : []) {
    asks.push(
      ask('spec.watchedResources.resourceSelector', { what: 'selected', kind, selector: selector ?? [], namespaces }),
    );
  }
  if (config.autoReloadAll) {
    for (const kind of SOURCE_KINDS) asks.push(ask('spec.autoReloadAll', { what: 'used', kind }));
  }
  return asks;
}

/** Whether the names of a config mean a source, or its selector might: labels can change. */
export const mayName = (config: ReloaderConfig, ref: SourceRef): boolean =>
  config.resourceSelector !== undefined || isNamed(config, ref);

/** Whether a config names a source and does not exclude it. Its targets do not matter here. */
export function namesSource(config: ReloaderConfig, ref: SourceRef, { ignored, labels }: SourceFlags): boolean {
  const { resourceSelector, matchLabels, isIgnored } = config;
  const isExcluded = isIgnored || ignored || ignores(config, ref) || !matches(matchLabels, labels);
  const isSelected = resourceSelector !== undefined && matches(resourceSelector, labels);
  return !isExcluded && (isSelected || isNamed(config, ref));
}

const isNamed = ({ names }: ReloaderConfig, { kind, name }: SourceRef): boolean =>
  kind !== 'SecretProviderClass' && matchesOne(names[kind], name);
