import { SOURCE_TYPE, type SourceRef } from '../../../api/sources.ts';
import type { Problem } from '../../../domain/asks/ask.ts';
import type { OutcomeOf } from '../../../domain/outcome/outcome.ts';
import type { Workload } from '../../../domain/workload/workload.ts';
import { listed } from './source-list.ts';

type Named = Pick<Workload, 'ref'>;

export const nameOf = ({ ref: { kind, namespace, name } }: Named): string => `${kind} ${namespace}/${name}`;

/** Upstream's words, in which a log line and an Event name a workload. */
export const quoted = ({ ref: { kind, namespace, name } }: Named): string =>
  `'${name}' of type '${kind}' in namespace '${namespace}'`;

export function updatedWords(outcome: OutcomeOf<'rolled' | 'replaced'>): string {
  const what = quoted(outcome.workload);
  if (outcome.is === 'replaced') return `${what}: deleted and created again`;
  if (outcome.evicted !== undefined) return `${what}: restarted ${podWords(outcome.evicted)}`;
  return outcome.job ? `${what}: created Job '${outcome.job.name}'` : what;
}

const podWords = (pods: number): string => (pods === 1 ? 'its one pod' : `its ${pods} pods`);

/** Upstream's words for one source; for several it has none. */
export function causeWords(refs: readonly SourceRef[]): string {
  const [{ kind, name } = { kind: 'ConfigMap', name: '' } as SourceRef] = refs;
  const what = refs.length === 1 ? `'${name}' of type '${SOURCE_TYPE[kind]}'` : listed(refs);
  const namespaces = [...new Set(refs.map(({ namespace }) => `'${namespace}'`))];
  return `Changes detected in ${what} in namespace${namespaces.length > 1 ? 's' : ''} ${namespaces.join(', ')}`;
}

export function revertedWords({ is, sources }: OutcomeOf<'reverted' | 'undelivered'>): string {
  const it = sources.length === 1 ? 'it' : 'them';
  const next =
    is === 'reverted'
      ? `applying ${it} once more`
      : `not applying ${it} again: undelivered until the template or the data changes`;
  return `Another writer removed the mark for ${listed(sources)}; ${next}`;
}

export const problemWords = ({ path, message }: Problem): string => `annotation ${path}: ${message}`;

export const rememberedWords = ({ bytes }: OutcomeOf<'partly-remembered'>): string =>
  `it needs ${Math.ceil(bytes / 1000)} kB in the ledger, more than its share. After a downtime Attune may restart it without need: use fewer sources or shorter lists`;
