import { LAST_RELOADED_FROM, NUDGE, RECORD, SAP_DISABLING_LABELS, SAP_LISTS } from '../../api/annotations.ts';

/** With which writes the API server comes to us, in its own language; every other write costs no call. */
export interface MatchCondition {
  readonly name: string;
  readonly expression: string;
}

/**
 * The condition for workloads whose pod template is at this path: the new object has one of SAP's annotations, or, where
 * `marks` are put back, the old one carries what a reload leaves behind. SAP's labels switch off SAP's annotations; as SAP
 * they keep the workload from admission altogether.
 *
 * It asks for presence before it looks into anything, and in the spec also for the type, as a custom resource may hold
 * anything there: an error in it would refuse the write under `Fail`.
 */
export function matchCondition(
  templatePath: readonly string[],
  { marks, sapCompat }: { readonly marks: boolean; readonly sapCompat: boolean },
): MatchCondition {
  const listed = hasOneOf(Object.values(SAP_LISTS), 'object.metadata.annotations');
  const isOn = `!${SWITCHED_OFF}`;
  if (!marks) return named(`${listed} &&\n  ${isOn}`);
  const marked = carriesMarks(templatePath);
  return named(sapCompat ? `${isOn} && (${listed} ||\n${marked})` : `${listed} &&\n  ${isOn} ||\n${marked}`);
}

const named = (expression: string): MatchCondition => ({ name: 'concerned', expression });

const list = (texts: readonly string[]): string => `[${texts.map((text) => `'${text}'`).join(', ')}]`;

const hasOneOf = (keys: readonly string[], map: string): string =>
  `(has(${map}) && ${list(keys)}.exists(key, key in ${map}))`;

const hasLabel = (object: string): string => {
  const labels = `${object}.metadata.labels`;
  const isTrue = `label in ${labels} && ${labels}[label] == 'true'`;
  return `(has(${labels}) && ${list(SAP_DISABLING_LABELS)}.exists(label, ${isTrue}))`;
};

/** As an objectSelector would see it, before and after: the request that sets the label still comes, for the last time. */
const SWITCHED_OFF = `(${hasLabel('object')} &&\n    (oldObject == null || ${hasLabel('oldObject')}))`;

const is = (type: 'map' | 'list' | 'string', path: string): string => `has(${path}) && type(${path}) == ${type}`;

// What a condition may cost is limited, and what costs more is an error too: about 50,000 variables are. Where there may be
// as many, the write comes to us instead; nobody has that many containers with that many variables.
const MANY = 1000;
const FEW = 30;

function carriesMarks(templatePath: readonly string[]): string {
  const record = hasOneOf([RECORD], 'oldObject.metadata.annotations');
  const template = ['oldObject', ...templatePath].join('.');
  const isThere = templatePath.map((_, at) => is('map', ['oldObject', ...templatePath.slice(0, at + 1)].join('.')));
  const annotations = `${template}.metadata.annotations`;
  const annotated = [
    is('map', `${template}.metadata`),
    is('map', annotations),
    hasOneOf([LAST_RELOADED_FROM, NUDGE], annotations),
  ];
  const variable = `type(e) == map && ${is('string', 'e.name')} && e.name.startsWith('STAKATER_')`;
  const containers = `${template}.spec.containers`;
  const tooMany = `size(c.env) > (size(${containers}) > ${FEW} ? ${FEW} : ${MANY})`;
  const marked = `type(c) == map && ${is('list', 'c.env')} && (${tooMany} || c.env.exists(e, ${variable}))`;
  const variables = [
    is('map', `${template}.spec`),
    is('list', containers),
    `(size(${containers}) > ${MANY} || ${containers}.exists(c, ${marked}))`,
  ];
  return [
    `oldObject != null && (${record} ||`,
    `  ${isThere.join(' && ')} && (`,
    `    (${annotated.join(' && ')}) ||`,
    `    (${variables.join(' && ')})))`,
  ].join('\n');
}
