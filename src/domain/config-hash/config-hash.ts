import { SAP_LISTS } from '../../api/annotations.ts';
import type { SourceRef } from '../../api/sources.ts';
import { detached } from '../text/detached.ts';

/** The kinds that SAP's annotations can list. ConfigMaps come first in the digest. */
export type ListedKind = keyof typeof SAP_LISTS;
export const LISTED_KINDS: readonly ListedKind[] = ['ConfigMap', 'Secret'];

/** The names in SAP's two annotations, in their order. */
export type ListedSources = Readonly<Record<ListedKind, readonly string[]>>;

/**
 * What SAP's annotations list; undefined if they list nothing. SAP splits at commas and does nothing else: under compat
 * ` b` is a name with a blank, a comma at the end makes an empty one, and what is listed twice counts twice.
 */
export function listedSources(
  annotations: Readonly<Record<string, unknown>>,
  compat: boolean,
): ListedSources | undefined {
  const listed = {
    ConfigMap: namesIn(annotations[SAP_LISTS.ConfigMap], compat),
    Secret: namesIn(annotations[SAP_LISTS.Secret], compat),
  };
  return LISTED_KINDS.every((kind) => listed[kind].length === 0) ? undefined : listed;
}

function namesIn(text: unknown, compat: boolean): readonly string[] {
  if (typeof text !== 'string' || text === '') return [];
  const names = text.split(',').map(detached);
  return compat ? names : [...new Set(names.map((name) => name.trim()).filter((name) => name !== ''))];
}

/** Each of them is read for the digest. */
export const MOST_LISTED = 4096;

/** Undefined if a digest can be made. It is over all that is listed, never over a part. */
export function tooManyListed(listed: ListedSources): string | undefined {
  const count = LISTED_KINDS.reduce((sum, kind) => sum + listed[kind].length, 0);
  return count > MOST_LISTED ? `${count} sources are listed: expected at most ${MOST_LISTED}` : undefined;
}

/** Every listed source once. */
export function listedRefs(listed: ListedSources, namespace: string): readonly SourceRef[] {
  return LISTED_KINDS.flatMap((kind) => [...new Set(listed[kind])].map((name) => ({ kind, namespace, name })));
}

const PREFIX: Readonly<Record<ListedKind, string>> = { ConfigMap: 'configmap', Secret: 'secret' };

/**
 * The text whose SHA-256 is the config hash: a line for each listed source, with what it holds, by whatever measure; a
 * source that is absent (`undefined`) has an empty one.
 */
export function configHashText(
  listed: ListedSources,
  namespace: string,
  holds: (ref: SourceRef) => string | undefined,
): string {
  return LISTED_KINDS.flatMap((kind) =>
    listed[kind].map((name) => `${PREFIX[kind]}/${namespace}/${name}/${holds({ kind, namespace, name }) ?? ''}\n`),
  ).join('');
}
