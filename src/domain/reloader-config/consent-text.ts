import { ALLOW_RELOADS_FROM } from '../../api/annotations.ts';

/** What lets the ReloaderConfigs of a namespace name what is in another. The annotation counts where Namespaces are read. */
export function howToAllow(to: string, from: string, readsNamespaces: boolean): string {
  const byFlag = `set --allow-reloads ${to}=${from}`;
  return readsNamespaces ? `annotate it with ${ALLOW_RELOADS_FROM}: "${from}", or ${byFlag}` : byFlag;
}
