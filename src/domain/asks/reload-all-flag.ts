import type { SourceKind } from '../../api/sources.ts';
import { type Ask, NO_OVERRIDES } from './ask.ts';

const reloadAll = (kind: SourceKind): Ask => ({
  because: 'auto-reload-all',
  origin: { by: 'flag', flag: '--auto-reload-all' },
  wants: { what: 'used', kind },
  overrides: NO_OVERRIDES,
});

/** What `--auto-reload-all` asks for, where the workload's auto annotations say nothing about a kind of source. */
export const RELOAD_ALL: Readonly<Record<SourceKind, Ask>> = {
  ConfigMap: reloadAll('ConfigMap'),
  Secret: reloadAll('Secret'),
  SecretProviderClass: reloadAll('SecretProviderClass'),
};

/** An ask of a flag that is not set does not count. */
export const isInForce = ({ origin }: Ask, policy: { readonly autoReloadAll: boolean }): boolean =>
  origin.by !== 'flag' || policy.autoReloadAll;
