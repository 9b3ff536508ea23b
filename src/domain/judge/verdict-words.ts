import { type Ask, annotationText, ignores, originText, placeText, type Refusal } from '../asks/ask.ts';
import { type AskingTexts, askingTexts } from '../asks/workload-annotations.ts';
import type { Reference, Workload } from '../workload/workload.ts';
import type { JudgedSource, NoReason, Policy } from './verdict.ts';

/** All that decides whether a change of this source rolls this workload. */
export interface Question {
  readonly workload: Workload;
  readonly source: JudgedSource;
  readonly policy: Policy;
  /** The source is in another namespace than the workload. */
  readonly isForeign: boolean;
  /** Where the pod template names the source. */
  readonly use: Reference | undefined;
}

/** Who asked, and why this source is meant. */
export function ruleOfYes(question: Question, { origin, wants }: Ask): string {
  const who = originText(origin);
  switch (wants.what) {
    case 'named': {
      const element = wants.patterns.find((pattern) => pattern.matches?.(question.source.ref.name))?.text ?? '';
      const { name } = question.source.ref;
      const isWhole = element === '' || (origin.by === 'annotation' ? origin.value === element : element === name);
      return `${who} names it${isWhole ? '' : ` by ${JSON.stringify(element)}`}`;
    }
    case 'search':
      return `${who}, ${theSource(question)} carries ${matchText(question)}, and ${usage(question)}`;
    case 'selected':
      return `${who} matches its labels`;
    case 'used':
      return `${who}, and ${usage(question)}`;
  }
}

/** What decided a no: a refusal, or the ask that came closest, or neither. */
export const ruleOfNo = (question: Question, because: NoReason, by: Ask | Refusal | undefined): string =>
  NO_RULES[because](question, by === undefined ? '' : originText(by.origin), by);

type NoRule = (question: Question, who: string, by: Ask | Refusal | undefined) => string;

const NO_RULES: Readonly<Record<NoReason, NoRule>> = {
  'kind-ignored': (q) => `--ignored-workload-types leaves out every ${q.workload.ref.kind}`,
  'source-ignored': (q) => `${annotationText(q.policy.keys.ignore, 'true')} on ${theSource(q)}`,
  excluded: (_, who) => `${who} leaves it out`,
  'auto-false': (_, who) => `${who} forbids every reload`,
  'on-change-ignore': (_, who) => who,
  'left-out': (q, _, by) => leftOutRule(q, by),
  'disabled-by-label': (_, who, by) => `${switchOf(by)} switches ${who} off`,
  'not-used': (q, who, by) => `${notUsedRule(q, who, by)}${hides(q)}`,
  'search-without-match': (q, who) => `${who}, but ${theSource(q)} does not carry ${matchText(q)}${hides(q)}`,
  'not-asked': (q) => `${notAskedRule(q)}${hides(q)}`,
  'invalid-annotation': (q) =>
    q.workload.intent.problems
      .filter((problem) => problem.blocks)
      .map((problem) => `${problem.path} ${problem.message}`)
      .join('; '),
};

const switchOf = (by: Ask | Refusal | undefined): string =>
  by && 'disabledBy' in by && by.disabledBy ? originText(by.disabledBy) : '';

/** By whom, and by which of its fields. */
function leftOutRule(question: Question, by: Ask | Refusal | undefined): string {
  if (!by || !('limits' in by) || !by.limits || by.origin.by !== 'config') return '';
  const isNamed = ignores(by.limits, { namespace: question.workload.ref.namespace, ...question.source.ref });
  const who = originText({ ...by.origin, path: isNamed ? 'spec.ignoreResources' : 'spec.matchLabels' });
  return isNamed ? `${who} leaves it out` : `${who}: ${theSource(question)} does not have these labels`;
}

function notUsedRule(question: Question, who: string, by: Ask | Refusal | undefined): string {
  const isConfigs = by?.origin.by === 'config' && question.workload.containers.length > 0;
  if (isConfigs) return `${who} asks for what the pod template names, and it does not name it`;
  if (question.workload.containers.length === 0) return 'the pod template has no containers';
  if (question.use?.via === 'unmounted-volume') return 'no container mounts the volume that holds it';
  return 'no container uses it, and it is not named';
}

function notAskedRule(question: Question): string {
  const { policy, source, workload } = question;
  const { place, named, auto, typedAuto } = textsOf(question);
  const list = workload.intent.asks.find(({ listed, wants }) => listed && wants.kind === source.ref.kind);
  const unnamed = list && !question.isForeign ? `${originText(list.origin)} does not name it` : '';
  const said = [
    named && `${annotationText(policy.keys.named[source.ref.kind], named)} does not match it`,
    auto && `${annotationText(policy.keys.auto, auto)} does not ask for it`,
    typedAuto && `${annotationText(policy.keys.typedAuto[source.ref.kind], typedAuto)} does not ask for it`,
  ].filter((text) => text !== '');
  if (said.length === 0 && unnamed !== '') return unnamed;
  if (said.length === 0) {
    return `no annotation in metadata${hiding(question).hidden.length > 0 ? '' : ' or pod template'} asks for it`;
  }
  return `${said.join('; ')} (read from ${placeText(place)})${unnamed && `; ${unnamed}`}`;
}

/** What the workload's annotations say about sources of this kind. */
export const textsOf = ({ workload, source, policy }: Question): AskingTexts =>
  askingTexts(source.ref.kind, workload, policy.keys);

/** The keys in metadata because of which the pod template is not read, and what would be read there. */
export function hiding(question: Question): { readonly keys: readonly string[]; readonly hidden: readonly string[] } {
  const { annotations, templateAnnotations } = question.workload;
  const { named, auto, typedAuto, search } = question.policy.keys;
  const { kind } = question.source.ref;
  const asking = [named[kind], auto, typedAuto[kind], search];
  const keys = asking.filter((key) => Object.hasOwn(annotations, key));
  return { keys, hidden: keys.length === 0 ? [] : asking.filter((key) => (templateAnnotations[key] ?? '') !== '') };
}

function hides(question: Question): string {
  const { keys, hidden } = hiding(question);
  if (hidden.length === 0) return '';
  const { annotations, templateAnnotations } = question.workload;
  const above = keys.map((key) => annotationText(key, annotations[key] ?? '')).join(', ');
  const below = hidden.map((key) => annotationText(key, templateAnnotations[key] ?? '')).join(', ');
  return `; ${above} in metadata ${keys.length === 1 ? 'hides' : 'hide'} ${below} in the pod template`;
}

export const theSource = ({ source }: Question): string => `${source.ref.kind} ${source.ref.name}`;
export const theWorkload = ({ workload }: Question): string => `${workload.ref.kind} ${workload.ref.name}`;
const matchText = ({ policy }: Question): string => annotationText(policy.keys.match, 'true');

const USES: Readonly<Record<Reference['via'], string>> = {
  volume: 'mounts it',
  env: 'takes variables from it',
  'init-volume': 'stands for an init container that mounts it',
  'init-env': 'stands for an init container that takes variables from it',
  'image-pull-secret': 'stands for the images pulled with it',
  'unmounted-volume': 'does not mount it',
};

function usage({ workload, use }: Question): string {
  const container = workload.containers[use?.container ?? 0];
  return `container ${container?.name ?? ''} ${use === undefined ? 'uses it' : USES[use.via]}`;
}
