import { CONFIG_HASH, SAP_DISABLING_LABELS } from '../../api/annotations.ts';
import type { WorkloadKind } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/objects.ts';
import type { Settings } from '../../config/settings.ts';
import { LISTED_KINDS, type ListedSources, listedRefs, listedSources } from '../../domain/config-hash/config-hash.ts';
import { matches } from '../../domain/text/selector.ts';
import { namespaceNotWatchedBecause } from '../../domain/watch-scope.ts';
import type { Workload } from '../../domain/workload/workload.ts';
import { type SapRegistration, selectorOf } from './sap-installation.ts';

/** One workload under SAP pod-reloader and under Attune. */
export interface SapDiagnosis {
  readonly workload: Workload['ref'];
  /** How many sources its annotations list, as Attune reads them. */
  readonly sources: number;
  /** What Attune would do differently. */
  readonly differences: readonly string[];
  /** What is worth knowing and changes nothing. */
  readonly remarks: readonly string[];
  /** What to run before Attune takes over. */
  readonly before: readonly string[];
}

type Labels = Readonly<Record<string, string>>;

/** What a diagnosis goes by. */
export interface SapBasis {
  readonly settings: Settings;
  /** None: not found, or not to be read. */
  readonly registrations: readonly SapRegistration[];
  /** Of a namespace; undefined: not known. */
  readonly labelsOf: (namespace: string) => Labels | undefined;
}

const SAP_KINDS = ['Deployment', 'StatefulSet', 'DaemonSet'];

/** Undefined: nothing of SAP pod-reloader is on this workload. Looks at nothing but its metadata. */
export function diagnoseSap(kind: WorkloadKind, object: KubeObject, basis: SapBasis): SapDiagnosis | undefined {
  const { name, namespace = '', annotations = {} } = object.metadata;
  const asWritten = listedSources(annotations, true);
  const hasToken = Object.hasOwn(annotations, CONFIG_HASH);
  if (asWritten === undefined && !hasToken) return undefined;
  const listed = listedSources(annotations, basis.settings.sapCompat);
  return {
    workload: { kind: kind.kind, namespace, name },
    sources: listed ? listedRefs(listed, namespace).length : 0,
    ...(listed && asWritten ? compare(kind, object, asWritten, basis) : MEANINGLESS),
    before: hasToken ? [`kubectl -n ${namespace} annotate ${kind.plural}/${name} ${CONFIG_HASH}-`] : [],
  };
}

type Findings = Pick<SapDiagnosis, 'differences' | 'remarks'>;

const MEANINGLESS: Findings = { differences: [], remarks: ['its annotations list nothing, and mean nothing'] };

const TOKEN =
  'a token is left on it, for which SAP’s webhook refuses every write; Attune passes over it and takes it off, under --compat=sap it refuses too';

function compare(kind: WorkloadKind, { metadata }: KubeObject, asWritten: ListedSources, basis: SapBasis): Findings {
  const { namespace = '', labels = {}, annotations = {} } = metadata;
  const { settings } = basis;
  const disabling = SAP_DISABLING_LABELS.find((key) => labels[key] === 'true');
  if (disabling !== undefined) {
    return { differences: [], remarks: [`its label ${disabling} says no: neither rolls it`] };
  }
  const isKnown = SAP_KINDS.includes(kind.kind);
  if (!isKnown && settings.sapCompat) return { differences: [], remarks: ['neither knows the kind'] };
  const leftOut = isKnown ? leftOutBy(labels, namespace, basis) : 'it does not know the kind';
  const [unwatched] = namespaceNotWatchedBecause(namespace, basis.labelsOf(namespace), settings);
  const remarks = hasEmptyNames(asWritten) ? ['an empty name is listed; it stands for nothing'] : [];
  if (unwatched) {
    const differences = leftOut ? [] : [`SAP's program rolls it, Attune does not: ${unwatched.rule}`];
    return { differences, remarks };
  }
  const token = Object.hasOwn(annotations, CONFIG_HASH) ? [TOKEN] : [];
  if (leftOut) {
    const differences = [`SAP's program never rolls it: ${leftOut}. Attune does`, ...token];
    return { differences, remarks: [...remarks, `to leave it alone, label it ${SAP_DISABLING_LABELS[1]}: "true"`] };
  }
  return { differences: [...(settings.sapCompat ? [] : withBlanks(asWritten)), ...token], remarks };
}

/** Names that SAP's program looks up with their blanks, and so never finds. */
const withBlanks = (asWritten: ListedSources): readonly string[] =>
  LISTED_KINDS.flatMap((kind) =>
    asWritten[kind]
      .filter((name) => name !== name.trim() && name.trim() !== '')
      .map((name) => `${kind} ${name.trim()} is listed with a blank: SAP's program never rolls for it, Attune does`),
  );

const hasEmptyNames = (asWritten: ListedSources): boolean =>
  LISTED_KINDS.some((kind) => asWritten[kind].some((name) => name.trim() === ''));

/** Why no registration of SAP's asks about the workload; without one that could be read, none is known. */
function leftOutBy(labels: Labels, namespace: string, { registrations, labelsOf }: SapBasis): string | undefined {
  const reasons = registrations.map(({ objectSelector, namespaceSelector }) => {
    if (!isSelected(namespaceSelector, labelsOf(namespace)))
      return `its registration leaves out namespace ${namespace}`;
    return isSelected(objectSelector, labels) ? undefined : 'its registration leaves out objects with such labels';
  });
  return reasons.some((reason) => reason === undefined) ? undefined : reasons[0];
}

/** What is not known is taken as selected. */
function isSelected(text: string, labels: Labels | undefined): boolean {
  const selector = selectorOf(text);
  return selector === undefined || labels === undefined || matches(selector, labels);
}
