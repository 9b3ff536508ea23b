import { SOURCE_KINDS, type SourceKind } from '../../api/sources.ts';
import { type Ask, type Intent, NO_OVERRIDES } from './ask.ts';

const RELOAD_ALL: Ask = {
  because: 'auto-reload-all',
  origin: { by: 'flag', flag: '--auto-reload-all' },
  wants: { what: 'used', kinds: SOURCE_KINDS },
  overrides: NO_OVERRIDES,
};

/** What the flag asks for: every source in use, where the workload's auto annotations say nothing. */
export function reloadAllAsk(
  { silentOn }: Intent,
  kind: SourceKind,
  policy: { readonly autoReloadAll: boolean },
): Ask | undefined {
  return policy.autoReloadAll && silentOn.includes(kind) ? RELOAD_ALL : undefined;
}
