import type { WatchedNamespaces } from '../domain/controller-options.ts';
import type { CommandLine } from './command-line.ts';
import { CONTROLLER_OPTIONS } from './options/controller.ts';
import { type Environment, rowsOf } from './options/option-table.ts';

/** The settings that everybody may know. */
export interface PublishedFlags {
  /** As one would type them, wherever they came from; flags that are not given are left out. */
  readonly shown: readonly string[];
  /** Names of flags that are set and may hold a credential. */
  readonly withheld: readonly string[];
}

/**
 * The flags that were given, and the variables that say the same as a flag. Variables that no flag stands for decide
 * nothing about a workload, but for KUBERNETES_NAMESPACE, which is in the scope.
 */
export function publishedFlags({ given }: CommandLine, env: Environment, scope: WatchedNamespaces): PublishedFlags {
  const shown = scope.mode === 'namespaces' ? [`--namespaces=${scope.namespaces.join(',')}`] : [];
  const withheld: string[] = [];
  for (const [name, { flag, env: variable, type, sensitive, local }] of rowsOf(CONTROLLER_OPTIONS)) {
    if (flag === undefined || local || name === 'namespaces') continue;
    const texts = given.get(flag) ?? [env[variable ?? '']].filter((text) => text !== undefined);
    // Lists add up, otherwise the last one counts.
    const counting = type === 'strings' ? texts : texts.slice(-1);
    if (counting.every((text) => text.trim() === '')) continue;
    if (sensitive || counting.some(isDoubtful)) withheld.push(flag);
    else shown.push(...counting.map((text) => `--${flag}=${text}`));
  }
  return { shown, withheld };
}

/** An address may hold a password wherever somebody put it by mistake, and each flag has to fit on a line. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for.
const isDoubtful = (text: string): boolean => /:\/\/|@|[\u0000-\u001f\u007f]/.test(text);
