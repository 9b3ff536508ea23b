import { RECORD, SAP_DISABLING_LABELS } from '../../api/annotations.ts';
import { type JsonObject, objectAt, objectIn } from '../../api/json.ts';
import type { WorkloadKind } from '../../api/kinds.ts';
import { SOURCE_KINDS } from '../../api/sources.ts';
import { type Ask, type Intent, type Refusal, refuses } from '../asks/ask.ts';
import { NO_NAME } from '../asks/name-pattern.ts';
import { parseIntent } from '../asks/parse-intent.ts';
import { isInForce } from '../asks/reload-all-flag.ts';
import { readsLists } from '../asks/sap-annotations.ts';
import type { Annotations } from '../asks/workload-annotations.ts';
import { type ListedSources, listedSources } from '../config-hash/config-hash.ts';
import { saysConfigsAsk } from '../ledger/record.ts';
import { annotationIn } from './object-edit.ts';
import type { AdmissionRules } from './request.ts';

/**
 * Whether the marks of a workload still serve somebody: not after an opt-out. That a ReloaderConfig asks stands in the record.
 *
 * Under compat there is no record that could say who else asks. So where marks came without an ask of the workload's own,
 * somebody else asked and may still do so.
 */
export function isAskedFor(kind: WorkloadKind, old: JsonObject, object: JsonObject, rules: AdmissionRules): boolean {
  const intent = intentOf(kind, object, rules);
  if (asks(intent, rules)) return true;
  if (rules.compat) return !asks(intentOf(kind, old, rules), rules);
  const isForbidden = SOURCE_KINDS.every((source) => intent.refusals.some((refusal) => refuses(refusal, source)));
  return !isForbidden && saysConfigsAsk(annotationIn(old, RECORD));
}

const asks = ({ asks: all, refusals }: Intent, rules: AdmissionRules): boolean =>
  all.some((ask) => !ask.disabledBy && isInForce(ask, rules) && isOpen(ask, refusals));

function intentOf(kind: WorkloadKind, object: JsonObject, rules: AdmissionRules): Intent {
  const metadata = objectIn(object['metadata']);
  const annotated = {
    labels: textsIn(metadata['labels']),
    annotations: textsIn(metadata['annotations']),
    templateAnnotations: textsIn(objectAt(object, [...kind.templatePath, 'metadata'])['annotations']),
  };
  return parseIntent(kind.kind, annotated, rules);
}

/** Whether anything is left of an ask when all that is refused is taken away. */
function isOpen({ wants }: Ask, refusals: readonly Refusal[]): boolean {
  const isRefused = (name?: string): boolean => refusals.some((refusal) => refuses(refusal, wants.kind, name));
  if (wants.what !== 'named') return !isRefused();
  // A list of which nothing can be read still asks. Under compat every workload has the pattern without a name.
  return (
    wants.patterns.length === 0 || wants.patterns.some((pattern) => pattern !== NO_NAME && !isRefused(pattern.literal))
  );
}

/** What SAP's annotations list, as far as they count: undefined also where a label, or under compat the kind, says no. */
export function sapLists(kind: WorkloadKind, object: JsonObject, rules: AdmissionRules): ListedSources | undefined {
  const { annotations, labels } = objectIn(object['metadata']) as Record<string, unknown>;
  const isOff = !rules.sapCompat && SAP_DISABLING_LABELS.some((label) => objectIn(labels)[label] === 'true');
  return isOff || !readsLists(kind.kind, rules.sapCompat)
    ? undefined
    : listedSources(objectIn(annotations), rules.sapCompat);
}

function textsIn(texts: unknown): Annotations {
  const entries = Object.entries(objectIn(texts));
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}
