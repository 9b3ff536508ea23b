import { ON_CHANGE } from '../api/annotations.ts';
import type { KindIntent } from './intent.ts';
import type { JudgedSource, NoReason, Policy, Verdict, YesReason } from './verdict.ts';
import type { Reference, Workload } from './workload.ts';

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

/** A no with what decided, and the one line that would remove it. */
export function no(question: Question, because: NoReason): Verdict {
  const words = NO_RULES[because];
  return { reload: false, because, rule: words.rule(question), cure: words.cure(question) };
}

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

const NO_RULES: Readonly<Record<NoReason, { readonly rule: Words; readonly cure: Words }>> = {
  'kind-ignored': {
    rule: (q) => `--ignored-workload-types leaves out every ${q.workload.ref.kind}`,
    cure: (q) => `take ${q.workload.ref.kind.toLowerCase()}s out of --ignored-workload-types`,
  },
  'source-ignored': {
    rule: (q) => `${line(q.policy.keys.ignore, 'true')} on ${theSource(q)}`,
    cure: (q) => `remove ${q.policy.keys.ignore} from ${theSource(q)}`,
  },
  excluded: {
    rule: (q) => `${line(excludeKey(q), q.intent.excluded.join(', '))} in metadata leaves it out`,
    cure: (q) => `take "${q.source.ref.name}" out of ${excludeKey(q)} in ${metadataOf(q)}`,
  },
  'auto-false': {
    rule: (q) => `${line(q.policy.keys.auto, q.intent.auto)} in ${whereRead(q)} forbids every reload`,
    cure: (q) =>
      isUsed(q)
        ? setIn(q, q.policy.keys.auto, 'true')
        : `replace ${line(q.policy.keys.auto, q.intent.auto)} by ${nameIt(q)} in ${placeToWrite(q)}`,
  },
  'on-change-ignore': {
    rule: () => `${line(ON_CHANGE, 'ignore')} in metadata`,
    cure: (q) => `set ${line(ON_CHANGE, 'run')} in ${metadataOf(q)}`,
  },
  'not-used': {
    rule: notUsedRule,
    cure: (q) =>
      q.workload.containers.length === 0
        ? `give ${theWorkload(q)} a container`
        : `set ${nameIt(q)} in ${placeToWrite(q)}`,
  },
  'search-without-match': {
    rule: (q) =>
      `${line(q.policy.keys.search, 'true')} in ${whereRead(q)}, but ${theSource(q)} does not carry ` +
      line(q.policy.keys.match, 'true'),
    cure: (q) =>
      isUsed(q)
        ? `set ${line(q.policy.keys.match, 'true')} on ${theSource(q)}`
        : `set ${nameIt(q)} in ${placeToWrite(q)}`,
  },
  'not-asked': {
    rule: notAskedRule,
    cure: (q) => (isUsed(q) ? setIn(q, q.policy.keys.auto, 'true') : `set ${nameIt(q)} in ${placeToWrite(q)}`),
  },
  'invalid-annotation': {
    rule: (q) =>
      q.workload.intent.problems
        .filter((problem) => problem.blocks)
        .map((problem) => `${problem.path} ${problem.message}`)
        .join('; '),
    cure: (q) =>
      q.workload.intent.problems
        .filter((problem) => problem.blocks)
        .map((problem) => `mend or remove ${problem.path} in ${metadataOf(q)}`)
        .join('; '),
  },
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
  if (said.length === 0) return 'no annotation in metadata or pod template asks for it';
  return `${said.join('; ')} (read from ${whereRead(question)})`;
}

const isUsed = ({ use }: Question): boolean => use?.container !== undefined;

const namedKey = ({ policy, source }: Question): string => policy.keys.named[source.ref.kind];
const typedAutoKey = ({ policy, source }: Question): string => policy.keys.typedAuto[source.ref.kind];
const excludeKey = ({ policy, source }: Question): string => policy.keys.exclude[source.ref.kind];

const theSource = ({ source }: Question): string => `${source.ref.kind} ${source.ref.name}`;
const theWorkload = ({ workload }: Question): string => `${workload.ref.kind} ${workload.ref.name}`;
const metadataOf = (question: Question): string => `metadata of ${theWorkload(question)}`;
const whereRead = ({ intent }: Question): string => (intent.from === 'metadata' ? 'metadata' : 'the pod template');

/** An annotation as one would write it. */
const line = (key: string, value: string): string => `${key}: ${JSON.stringify(value)}`;

const setIn = (question: Question, key: string, value: string): string =>
  `set ${line(key, value)} in ${placeToWrite(question)}`;

/** The named list with this source added. */
function nameIt(question: Question): string {
  const { namedText } = question.intent;
  const { name } = question.source.ref;
  return line(namedKey(question), namedText === '' ? name : `${namedText},${name}`);
}

/**
 * Where a new annotation must go. The pod template is read only while metadata has none of the keys; whoever asks there
 * would lose what is asked by a first key in metadata.
 */
function placeToWrite(question: Question): string {
  const { from, namedText, auto, typedAuto, search } = question.intent;
  const asksInTemplate = from === 'template' && (search || namedText !== '' || auto !== '' || typedAuto !== '');
  return asksInTemplate ? `the pod template of ${theWorkload(question)}` : metadataOf(question);
}

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
