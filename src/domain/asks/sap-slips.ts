import { CONFIG_HASH, SAP_DISABLING_LABELS, SAP_LISTS } from '../../api/annotations.ts';
import { type JsonObject, objectIn, textIn } from '../../api/json.ts';
import type { KindName } from '../../api/kinds.ts';
import { LISTED_KINDS, type ListedKind, listedSources } from '../config-hash/config-hash.ts';
import { quote } from '../text/quote.ts';
import { isSubdomain } from '../text/subdomain.ts';
import { readsLists } from './sap-annotations.ts';
import { plainly } from './spelling.ts';

/** Where keys of a workload stand. */
export interface Places {
  readonly kind: KindName;
  readonly metadata: JsonObject;
  /** The metadata of the pod template. */
  readonly template: JsonObject;
}

export type Report = (path: string, message: string | undefined) => void;

const DOMAIN = 'pod-reloader.cs.sap.com/';
const LISTS: readonly string[] = Object.values(SAP_LISTS);
const LABELS: readonly string[] = SAP_DISABLING_LABELS;
const ONLY_LABEL = 'is an annotation here, and only the label is read';
const ONLY_ANNOTATION = 'is a label here, and only annotations are read';
const ONLY_METADATA = 'has no effect in the pod template: it is read from metadata alone';

/** Likely mistakes with SAP's keys, whose own program says nothing about them. */
export function sapSlips({ kind, metadata, template }: Places, sapCompat: boolean, tell: Report): void {
  const annotations = objectIn(metadata['annotations']);
  const isRead = readsLists(kind, sapCompat);
  const deaf = isRead ? undefined : `has no effect on a ${kind}${sapCompat ? ' under --compat=sap' : ''}`;
  for (const key of keysIn(annotations)) tell(key, messageOn(key, deaf, ONLY_LABEL));
  for (const key of keysIn(objectIn(template['annotations']))) tell(key, messageOn(key, ONLY_METADATA, ONLY_METADATA));
  labelSlips(objectIn(metadata['labels']), tell);
  if (isRead) nameSlips(annotations, sapCompat, tell);
}

/** What is wrong with an annotation, where there is something to say about one of the lists or one of the labels. */
function messageOn(key: string, ofList: string | undefined, ofLabel: string): string | undefined {
  if (LISTS.includes(key)) return ofList;
  return LABELS.includes(key) ? ofLabel : strange(key);
}

const keysIn = (map: JsonObject): readonly string[] => Object.keys(map).filter((key) => key.startsWith(DOMAIN));

const KNOWN = [...LISTS, ...LABELS];

function strange(key: string): string | undefined {
  if (key === CONFIG_HASH) return undefined;
  const guess = KNOWN.find((known) => plainly(known) === plainly(key));
  return guess === undefined ? 'is not read' : `is not read: did you mean ${guess}?`;
}

function labelSlips(labels: JsonObject, tell: Report): void {
  for (const key of keysIn(labels)) {
    const text = textIn(labels[key]);
    const isClear = text === 'true' || text === 'false' || text === '';
    if (LISTS.includes(key)) tell(key, ONLY_ANNOTATION);
    else if (!LABELS.includes(key)) tell(key, strange(key));
    else if (!isClear) tell(key, `only the exact text "true" counts, not ${quote(text)}`);
  }
}

const MAX_NAMES = 5;

/** A list can have thousands of elements; a few of them are enough to see what is wrong. */
function nameSlips(annotations: JsonObject, sapCompat: boolean, tell: Report): void {
  const listed = listedSources(annotations, sapCompat);
  for (const kind of listed ? LISTED_KINDS : []) {
    const wrong = listed?.[kind].filter((name) => !isSubdomain(name)) ?? [];
    for (const name of wrong.slice(0, MAX_NAMES)) tell(SAP_LISTS[kind], nameless(kind, name));
    if (wrong.length > MAX_NAMES) tell(SAP_LISTS[kind], `${wrong.length - MAX_NAMES} more are never found`);
  }
}

/** Blanks and empty names are only left under compat. */
function nameless(kind: ListedKind, name: string): string {
  const trimmed = name.trim();
  if (trimmed === '') return 'an empty name is never found: under --compat=sap every comma counts';
  if (isSubdomain(trimmed)) return `${quote(name)} is never found: under --compat=sap the blank is part of the name`;
  return `${quote(name)} is never found: no ${kind} can have that name, and names are taken letter by letter`;
}
