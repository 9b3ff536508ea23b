import { ON_CHANGE } from '../../api/annotations.ts';
import type { KindIntent } from '../asks/intent.ts';
import type { Reference, Workload } from '../workload/workload.ts';
import type { JudgedSource, NoReason, Policy, Verdict, YesReason } from './verdict.ts';

/** All that the rules look at: would a change of this source roll this workload? */
export interface Question {
  readonly workload: Workload;
  readonly source: JudgedSource;
  readonly policy: Policy;
  /** What the workload asked for regarding this kind of source. */
  readonly intent: KindIntent;
  /** Where the pod template names the source. */
  readonly use: Reference | undefined;
}

/** A yes with the annotation and the value that decided, and where they stand. */
export function yes(question: Question, because: YesReason, container: number): Verdict {
  return { reload: true, because, container, rule: YES_RULES[because](question) };
}

/** What decided a no. */
export const ruleOfNo = (question: Question, because: NoReason): string => NO_RULES[because](question);

type Words = (question: Question) => string;

const YES_RULES: Readonly<Record<YesReason, Words>> = {
  named: (q) => `${line(namedKey(q), q.intent.namedText)} in ${whereRead(q)} names it${elementOf(q)}`,
  'search-match': (q) =>
    `${line(q.policy.keys.search, 'true')} in ${whereRead(q)}, ${theSource(q)} carries ` +
    `${line(q.policy.keys.match, 'true')}, and ${usage(q)}`,
  auto: (q) => `${line(q.policy.keys.auto, q.intent.auto)} in ${whereRead(q)}, and ${usage(q)}`,
  'typed-auto': (q) => `${line(typedAutoKey(q), q.intent.typedAuto)} in ${whereRead(q)}, and ${usage(q)}`,
  'auto-reload-all': (q) => `--auto-reload-all, and ${usage(q)}`,
};

const NO_RULES: Readonly<Record<NoReason, Words>> = {
  'kind-ignored': (q) => `--ignored-workload-types leaves out every ${q.workload.ref.kind}`,
  'source-ignored': (q) => `${line(q.policy.keys.ignore, 'true')} on ${theSource(q)}`,
  excluded: (q) => `${line(excludeKey(q), q.intent.excluded.join(', '))} in metadata leaves it out`,
  'auto-false': (q) => `${line(q.policy.keys.auto, q.intent.auto)} in ${whereRead(q)} forbids every reload`,
  'on-change-ignore': () => `${line(ON_CHANGE, 'ignore')} in metadata`,
  'not-used': (q) => `${notUsedRule(q)}${hides(q)}`,
  'search-without-match': (q) =>
    `${line(q.policy.keys.search, 'true')} in ${whereRead(q)}, but ${theSource(q)} does not carry ` +
    `${line(q.policy.keys.match, 'true')}${hides(q)}`,
  'not-asked': (q) => `${notAskedRule(q)}${hides(q)}`,
  'invalid-annotation': (q) =>
    q.workload.intent.problems
      .filter((problem) => problem.blocks)
      .map((problem) => `${problem.path} ${problem.message}`)
      .join('; '),
};

function notUsedRule(question: Question): string {
  if (question.workload.containers.length === 0) return 'the pod template has no containers';
  if (question.use?.via === 'unmounted-volume') return 'no container mounts the volume that holds it';
  return 'no container uses it, and it is not named';
}

function notAskedRule(question: Question): string {
  const { intent, policy } = question;
  const said = [
    intent.namedText && `${line(namedKey(question), intent.namedText)} does not match it`,
    intent.auto && `${line(policy.keys.auto, intent.auto)} does not ask for it`,
    intent.typedAuto && `${line(typedAutoKey(question), intent.typedAuto)} does not ask for it`,
  ].filter((text) => text !== '');
  if (said.length === 0) {
    return `no annotation in metadata${hiding(question).hidden.length > 0 ? '' : ' or pod template'} asks for it`;
  }
  return `${said.join('; ')} (read from ${whereRead(question)})`;
}

/** The keys in metadata because of which the pod template is not read, and what would be read there. */
export function hiding(question: Question): { readonly keys: readonly string[]; readonly hidden: readonly string[] } {
  const { workload, intent, policy } = question;
  if (intent.from === 'template') return { keys: [], hidden: [] };
  const asking = [namedKey(question), policy.keys.auto, typedAutoKey(question), policy.keys.search];
  return {
    keys: asking.filter((key) => Object.hasOwn(workload.annotations, key)),
    hidden: asking.filter((key) => (workload.templateAnnotations[key] ?? '') !== ''),
  };
}

function hides(question: Question): string {
  const { keys, hidden } = hiding(question);
  if (hidden.length === 0) return '';
  const { annotations, templateAnnotations } = question.workload;
  const above = keys.map((key) => line(key, annotations[key] ?? '')).join(', ');
  const below = hidden.map((key) => line(key, templateAnnotations[key] ?? '')).join(', ');
  return `; ${above} in metadata ${keys.length === 1 ? 'hides' : 'hide'} ${below} in the pod template`;
}

const namedKey = ({ policy, source }: Question): string => policy.keys.named[source.ref.kind];
const typedAutoKey = ({ policy, source }: Question): string => policy.keys.typedAuto[source.ref.kind];
const excludeKey = ({ policy, source }: Question): string => policy.keys.exclude[source.ref.kind];

export const theSource = ({ source }: Question): string => `${source.ref.kind} ${source.ref.name}`;
export const theWorkload = ({ workload }: Question): string => `${workload.ref.kind} ${workload.ref.name}`;
const whereRead = ({ intent }: Question): string => (intent.from === 'metadata' ? 'metadata' : 'the pod template');

/** An annotation as one would write it. */
export const line = (key: string, value: string): string => `${key}: ${JSON.stringify(value)}`;

function elementOf({ intent, source }: Question): string {
  const element = intent.named.find((pattern) => pattern.matches?.(source.ref.name));
  return element === undefined || element.text === intent.namedText ? '' : ` by ${JSON.stringify(element.text)}`;
}

const WAYS: Readonly<Record<Reference['via'], string>> = {
  volume: 'mounts it',
  env: 'takes variables from it',
  'init-volume': 'stands for an init container that mounts it',
  'init-env': 'stands for an init container that takes variables from it',
  'image-pull-secret': 'stands for the images pulled with it',
  'unmounted-volume': 'does not mount it',
};

function usage({ workload, use }: Question): string {
  const container = workload.containers[use?.container ?? 0];
  return `container ${container?.name ?? ''} ${use === undefined ? 'uses it' : WAYS[use.via]}`;
}
