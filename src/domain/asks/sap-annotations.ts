import { SAP_DISABLING_LABELS, SAP_LISTS } from '../../api/annotations.ts';
import type { KindName } from '../../api/kinds.ts';
import type { SourceRef } from '../../api/sources.ts';
import { LISTED_KINDS, type ListedSources, listedSources, tooManyListed } from '../config-hash/config-hash.ts';
import { isSubdomain } from '../text/subdomain.ts';
import type { Intent, Origin, Overrides } from './ask.ts';
import { exactName, matchesOne } from './name-pattern.ts';
import type { Annotated, Dialect, Found } from './workload-annotations.ts';

/** SAP's digest has a line for what is absent too: to come and to go are changes like any other. */
const BY_HASH: Overrides = { strategy: 'config-hash', reloadOnCreate: true, reloadOnDelete: true };

const SAPS_KINDS: readonly KindName[] = ['Deployment', 'StatefulSet', 'DaemonSet'];

/** Whether SAP's lists are read on this kind. A Job's template cannot be changed, and the run that it is has begun. */
export const readsLists = (kind: KindName, sapCompat: boolean): boolean =>
  sapCompat ? SAPS_KINDS.includes(kind) : kind !== 'Job';

/** What SAP's annotations ask for: they are read in metadata alone, and list names, letter by letter. */
export function parseLists(kind: KindName, workload: Annotated, { sapCompat }: Dialect, found: Found): void {
  const { annotations, labels } = workload;
  const listed = readsLists(kind, sapCompat) ? listedSources(annotations, sapCompat) : undefined;
  if (!listed) return;
  const excess = tooManyListed(listed);
  if (excess !== undefined) {
    for (const source of LISTED_KINDS.filter((each) => listed[each].length > 0)) {
      found.problems.push({ path: SAP_LISTS[source], message: excess });
    }
    return;
  }
  const disabledBy = disablingLabel(labels);
  for (const source of LISTED_KINDS) {
    // A name that no object can have is in the digest as absent, and nobody looks for it.
    const patterns = listed[source].filter(isSubdomain).map(exactName);
    if (patterns.length === 0) continue;
    const key = SAP_LISTS[source];
    found.asks.push({
      because: 'named',
      origin: { by: 'annotation', place: 'metadata', key, value: annotations[key] ?? '' },
      wants: { what: 'named', kind: source, patterns },
      overrides: BY_HASH,
      listed,
      ...(disabledBy && { disabledBy }),
    });
  }
}

function disablingLabel(labels: Annotated['labels']): Origin | undefined {
  const key = SAP_DISABLING_LABELS.find((label) => labels[label] === 'true');
  return key && { by: 'label', key, value: 'true' };
}

/** All that is listed beside a source, where it is listed and that counts. */
export const listsWith = ({ asks }: Pick<Intent, 'asks'>, { kind, name }: SourceRef): ListedSources | undefined =>
  asks.find(
    ({ listed, disabledBy, wants }) =>
      listed && !disabledBy && wants.what === 'named' && wants.kind === kind && matchesOne(wants.patterns, name),
  )?.listed;
