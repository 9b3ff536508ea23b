import { SAP_DISABLING_LABELS } from '../../api/annotations.ts';
import { type JsonObject, objectAt, objectIn } from '../../api/json.ts';
import type { WorkloadKind } from '../../api/kinds.ts';
import { type Ask, type Refusal, refuses } from '../asks/ask.ts';
import { NO_NAME } from '../asks/name-pattern.ts';
import { parseIntent } from '../asks/parse-intent.ts';
import { isInForce } from '../asks/reload-all-flag.ts';
import { readsLists } from '../asks/sap-annotations.ts';
import type { Annotations } from '../asks/workload-annotations.ts';
import { type ListedSources, listedSources } from '../config-hash/config-hash.ts';
import type { AdmissionRules } from './request.ts';

/**
 * Whether the marks of a workload still serve somebody: not after an opt-out.
 *
 * Under compat there is no record that could say who else asks. So where marks came without an ask of the workload's own,
 * somebody else asked and may still do so.
 */
export function isAskedFor(kind: WorkloadKind, old: JsonObject, object: JsonObject, rules: AdmissionRules): boolean {
  return asks(kind, object, rules) || (rules.compat && !asks(kind, old, rules));
}

function asks(kind: WorkloadKind, object: JsonObject, rules: AdmissionRules): boolean {
  const metadata = objectIn(object['metadata']);
  const annotated = {
    labels: textsIn(metadata['labels']),
    annotations: textsIn(metadata['annotations']),
    templateAnnotations: textsIn(objectAt(object, [...kind.templatePath, 'metadata'])['annotations']),
  };
  const intent = parseIntent(kind.kind, annotated, rules);
  return intent.asks.some((ask) => !ask.disabledBy && isInForce(ask, rules) && isOpen(ask, intent.refusals));
}

/** Whether anything is left of an ask when all that is refused is taken away. */
function isOpen({ wants }: Ask, refusals: readonly Refusal[]): boolean {
  const isRefused = (name?: string): boolean => refusals.some((refusal) => refuses(refusal, wants.kind, name));
  if (wants.what !== 'named') return !isRefused();
  // Under compat every workload has the one without a name.
  return wants.patterns.some((pattern) => pattern !== NO_NAME && !isRefused(pattern.literal));
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
