import { kindNamed } from '../../api/kinds.ts';
import { UNKNOWN } from '../ledger/applied.ts';
import { sourceId } from '../ledger/source-id.ts';
import type { Workload } from '../workload/workload.ts';
import type { OwnMarks, TakenMarks } from './own-marks.ts';
import { type PodData, type TemplateTime, UNKNOWN_TIME } from './pod-data.ts';
import { templateOf } from './recent-templates.ts';
import { isOrdered, type StateRules } from './source-past.ts';
import type { Sighting } from './transitions.ts';

/** The parts of a workload's state that follow its template. */
export interface TemplateParts {
  readonly pods: PodData;
  readonly marks: OwnMarks;
  readonly rules: StateRules;
}

export interface TemplateSighting extends Sighting {
  readonly before: Workload;
  readonly after: Workload;
  /** First version at which it can have been so. */
  readonly moment: number;
}

/** What a template says that was seen. */
export interface TemplateNews {
  /** What is believed is no longer what a record on the object says. */
  readonly isLedgerMoved: boolean;
  readonly taken: TakenMarks;
}

const NONE: TakenMarks = { again: [], givenUp: [] };
const NO_NEWS: TemplateNews = { isLedgerMoved: false, taken: NONE };

/** A newer version of a workload whose spec or annotations are others. */
export function templateSeen(parts: TemplateParts, sighting: TemplateSighting): TemplateNews {
  const { templates } = parts.pods;
  const { before, after, moment } = sighting;
  const isListed = sighting.by === 'list';
  if (!sighting.isFollowing) {
    templates.replace(after, moment - 1, parts.pods.applied);
    return NO_NEWS;
  }
  if (before.fullTemplateDigest !== after.fullTemplateDigest) {
    const news = templateReplaced(parts, sighting);
    if (isListed) templates.missedAfter(moment - 1, after);
    templates.expectRevision(before.revision, after.revision);
    return news;
  }
  if (!isListed || templates.isExpected(before.revision, after.revision)) return NO_NEWS;
  // The template went there and back again, and nobody saw when: pods may be from any time since.
  const template = { ...templateOf(after, moment - 1), had: new Map(parts.pods.applied) };
  templates.missedAfter(moment - 1, after);
  parts.pods.revisited(template, { after: moment - 1, upTo: Number(after.resourceVersion) });
  return { isLedgerMoved: true, taken: NONE };
}

/**
 * The template is another than before, so there will be new pods, and they start with what the sources held at that moment.
 * Unless it is one that was there before: then pods from that time may still be running, and new ones beside them. Nor does
 * a template without our mark prove anything while there may be pods from before our time.
 */
function templateReplaced(parts: TemplateParts, sighting: TemplateSighting): TemplateNews {
  const { pods, marks, rules } = parts;
  const { templates } = pods;
  const { before, after } = sighting;
  const { when, isOurs } = writingOf(sighting);
  const known = templates.replace(after, when.after, pods.applied);
  const isEdited = before.templateDigest !== after.templateDigest;
  if (isEdited) marks.templateEdited(known.length === 0);
  if (kindNamed(after.ref.kind)?.effect !== 'patch') return NO_NEWS;
  const isReturn = known.length > 0 || (!isOurs && templates.unseenAfter !== undefined);
  if (isReturn) pods.returned(known, when);
  else pods.templateWritten(isOrdered(rules) ? when : UNKNOWN_TIME);
  const taken = isOurs || pods.isWriting ? NONE : noticeRevert(parts, after);
  const isReverted = isTaken(taken);
  if (!isReturn && !isReverted && isOrdered(rules)) pods.replaced();
  return { isLedgerMoved: isReturn || isReverted || !isOurs, taken };
}

/** When a template was written, and whether by us or by another leader of ours. */
function writingOf({ before, after, by, moment, news }: TemplateSighting) {
  const record = news();
  const upTo = Number(after.resourceVersion);
  // A listing only says that it was written after what had been heard before.
  const heard = Math.max(moment - 1, record?.heardUpTo ?? -1);
  const when: TemplateTime = by === 'list' ? { after: heard, upTo, base: before.revision } : { after: upTo, upTo };
  return { when, isOurs: by === 'write' || record !== undefined };
}

/**
 * Our marks may be gone though the template is the same. If the template without them keeps pods that are older than the
 * change, another writer undid the rollout. If it keeps none, its pods are all new, and a missing mark says nothing.
 */
export function noticeRevert({ pods, marks, rules }: TemplateParts, workload: Workload): TakenMarks {
  const lost = marks.takeLost(workload, rules);
  if (lost.size === 0 || !(goesByMarks(rules) || pods.mayKeepOlder(workload))) return NONE;
  const taken = marks.undone(lost, workload, rules);
  const version = Number(workload.resourceVersion);
  pods.returned([], { after: version, upTo: version });
  // Last, whatever the order of versions says about the pods: a mark that is missing is to be written again.
  for (const ref of [...taken.again, ...taken.givenUp])
    pods.applied.set(sourceId(ref, workload.ref.namespace), UNKNOWN);
  return taken;
}

/** A missing mark is written again, whatever the pods have: as upstream, or because no order says what they have. */
export const goesByMarks = (rules: StateRules): boolean => rules.sapCompat || !isOrdered(rules);

export const isTaken = ({ again, givenUp }: TakenMarks): boolean => again.length + givenUp.length > 0;
