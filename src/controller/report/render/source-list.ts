import type { SourceRef } from '../../../api/sources.ts';
import { sourceId } from '../../../domain/ledger/source-id.ts';

// An Event's message has room for about 1,000 characters, and nobody reads more names than a few.
const MAX_LISTED = 10;
const MAX_LENGTH = 500;
/** What an Event carries for programs. All annotations of an object together may have eight times as much. */
const MAX_CARRIED = 32_000;
const CUT = '…';

/** For people: `ConfigMap a, b, Secret c and 7 more`. */
export function listed(refs: readonly SourceRef[]): string {
  const shown = refs.slice(0, fitting(refs));
  const byKind = Object.entries(Object.groupBy(shown, ({ kind }) => kind));
  const text = byKind.map(([kind, some]) => `${kind} ${some.map(({ name }) => name).join(', ')}`).join(', ');
  return text + andMore(refs.length - shown.length);
}

/** For a field of the log: `ConfigMap/a,Secret/b and 7 more`, as seen from a namespace. */
export function listedIds(refs: readonly SourceRef[], namespace: string): string {
  const fits = fitting(refs);
  return (
    refs
      .slice(0, fits)
      .map((ref) => sourceId(ref, namespace))
      .join(',') + andMore(refs.length - fits)
  );
}

/** For programs: all of them, or as many as there is room for and a sign that there are more. */
export function carried(refs: readonly SourceRef[], namespace: string): string {
  const text = refs.map((ref) => sourceId(ref, namespace)).join(',');
  return text.length <= MAX_CARRIED ? text : `${text.slice(0, text.lastIndexOf(',', MAX_CARRIED))},${CUT}`;
}

/** Whether a text of `carried` is about a source; `perhaps` if it was cut before its end. */
export function isCarried(text: string, ref: SourceRef, namespace: string): 'yes' | 'no' | 'perhaps' {
  const ids = text.split(',');
  if (ids.includes(sourceId(ref, namespace))) return 'yes';
  return ids.at(-1) === CUT ? 'perhaps' : 'no';
}

/** How many of them fit; one does, however long it is. */
function fitting(refs: readonly SourceRef[]): number {
  let length = 0;
  const tooLong = refs.findIndex(({ kind, name }, at) => {
    length += kind.length + name.length;
    return at > 0 && length > MAX_LENGTH;
  });
  return Math.min(tooLong < 0 ? refs.length : tooLong, MAX_LISTED);
}

const andMore = (count: number): string => (count > 0 ? ` and ${count} more` : '');
