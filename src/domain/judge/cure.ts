import { ON_CHANGE, SAP_LISTS } from '../../api/annotations.ts';
import { kindNamed } from '../../api/kinds.ts';
import { SOURCE_KINDS } from '../../api/sources.ts';
import { annotationText, type Place, placeText, refuses } from '../asks/ask.ts';
import { parseIntent } from '../asks/parse-intent.ts';
import { type Annotated, type Annotations, askingTexts } from '../asks/workload-annotations.ts';
import type { Workload } from '../workload/workload.ts';
import { actionFor } from './effect.ts';
import type { JudgedSource, NoReason, Policy, Verdict } from './verdict.ts';
import { hiding, type Question, textsOf, theSource, theWorkload } from './verdict-words.ts';

type Judge = (workload: Workload, source: JudgedSource, policy: Policy) => Verdict;
type Case = Pick<Question, 'workload' | 'source' | 'policy'>;

/** One thing that somebody could do about a no, and what the case is afterwards; undefined: that cannot be foreseen. */
interface Step {
  readonly text: string;
  readonly after: ((now: Case) => Case) | undefined;
}

// There are not so many things that can be in the way at once: who is not done by then goes round in a circle.
const MAX_DEPTH = 8;

/**
 * What would make a no a yes, one line for each thing that is in the way. Found by trying: the steps of each way out are
 * applied to a copy of the workload, which is judged again. The way with the fewest lines wins, of equals the first.
 */
export function curesOf(question: Question, because: NoReason, judge: Judge): readonly string[] {
  return shortest(question, because, judge, MAX_DEPTH).map(({ text }) => text);
}

function shortest(at: Question, because: NoReason, judge: Judge, depth: number): readonly Step[] {
  const ways = [...WAYS[because](at), ...aroundRefusal(at, because), ...unblock(at, because)].map((steps) => [
    ...steps,
    ...rest(after(at, steps), judge, depth - 1),
  ]);
  return ways.reduce((best, way) => (way.length < best.length ? way : best), ways[0] ?? []);
}

function rest(at: Question | undefined, judge: Judge, depth: number): readonly Step[] {
  const verdict = at && judge(at.workload, at.source, at.policy);
  if (!verdict || depth === 0) return [];
  if (!verdict.reload) return shortest(at, verdict.because, judge, depth);
  const kind = kindNamed(at.workload.ref.kind);
  const isLeft = kind && actionFor(kind, at.workload, [verdict], at.policy) === 'none';
  return isLeft ? [set(at, 'metadata', ON_CHANGE, 'run')] : [];
}

function after(at: Question, steps: readonly Step[]): Question | undefined {
  let now: Case | undefined = at;
  for (const step of steps) now = now && step.after?.(now);
  return now && { ...at, ...now };
}

/** As SAP, what it lists is rolled for whatever refuses. */
const aroundRefusal = (q: Question, because: NoReason): readonly (readonly Step[])[] =>
  q.policy.sapCompat && because !== 'not-asked' && because !== 'disabled-by-label' ? enlist(q) : [];

/** To remove what blocks can be enough: without an `auto` that cannot be read, `--auto-reload-all` counts. */
const unblock = (q: Question, because: NoReason): readonly (readonly Step[])[] => {
  const isBlocked = q.workload.intent.problems.some(({ blocks }) => blocks);
  return isBlocked && because !== 'invalid-annotation' ? WAYS['invalid-annotation'](q) : [];
};

/** The ways out of each no, the smallest change first. */
const WAYS: Readonly<Record<NoReason, (at: Question) => readonly (readonly Step[])[]>> = {
  'kind-ignored': (q) => [[watchKind(q)]],
  'source-ignored': (q) => [[onSource(`remove ${q.policy.keys.ignore} from ${theSource(q)}`, { ignored: false })]],
  excluded: (q) => [[unexclude(q)]],
  'auto-false': (q) => {
    const { auto } = q.policy.keys;
    const { place } = textsOf(q);
    const ways = [[remove(q, place, auto)], [replaceAuto(q)]];
    return isUsed(q) ? ways.toSpliced(1, 0, [set(q, place, auto, 'true')]) : ways;
  },
  'on-change-ignore': (q) => [[set(q, 'metadata', ON_CHANGE, 'run')]],
  'disabled-by-label': (q) => [disablingLabels(q).map((key) => unlabel(q, key))],
  'left-out': (q) => [
    [
      {
        text: `take ${theSource(q)} out of ignoreResources of the ReloaderConfig, or give it the labels of matchLabels`,
        after: undefined,
      },
    ],
  ],
  'not-used': (q) =>
    q.workload.containers.length === 0
      ? [[{ text: `give ${theWorkload(q)} a container`, after: undefined }]]
      : [[nameIt(q)]],
  'search-without-match': (q) => [...(hasList(q) || !isUsed(q) ? [[nameIt(q)]] : []), [matchSource(q)]],
  'not-asked': (q) =>
    q.isForeign
      ? []
      : [
          ...unhide(q),
          ...enlist(q),
          ...(hasList(q) || !isUsed(q) ? [[nameIt(q)]] : []),
          [set(q, placeToAsk(q), q.policy.keys.auto, 'true')],
        ],
  'invalid-annotation': (q) => [
    q.workload.intent.problems
      .filter(({ blocks }) => blocks)
      .map(({ path }) => {
        const place = Object.hasOwn(q.workload.annotations, path) ? 'metadata' : 'template';
        return { text: `mend or remove ${path} in ${placeIn(q, place)}`, after: remove(q, place, path).after };
      }),
  ],
};

function watchKind({ workload: { ref } }: Question): Step {
  return {
    text: `take ${ref.kind.toLowerCase()}s out of --ignored-workload-types`,
    after: (now) => {
      const ignoredKinds = new Set([...now.policy.ignoredKinds].filter((kind) => kind !== ref.kind));
      return { ...now, policy: { ...now.policy, ignoredKinds } };
    },
  };
}

function unexclude(q: Question): Step {
  const { kind, name } = q.source.ref;
  const key = q.policy.keys.exclude[kind];
  const { names } = q.workload.intent.refusals.find((refusal) => refuses(refusal, kind, name)) ?? {};
  const left = [...(names ?? [])].filter((each) => each !== name).join(',');
  return {
    text: `take "${name}" out of ${key} in ${placeIn(q, 'metadata')}`,
    after: (now) => edited(now, 'metadata', { [key]: left }),
  };
}

const onSource = (text: string, flags: Partial<JudgedSource>): Step => ({
  text,
  after: (now) => ({ ...now, source: { ...now.source, ...flags } }),
});

const matchSource = (q: Question): Step =>
  onSource(`set ${annotationText(q.policy.keys.match, 'true')} on ${theSource(q)}`, { matchable: true });

/** Taking away empty keys that keep the pod template from being read. */
function unhide(q: Question): readonly (readonly Step[])[] {
  const { keys, hidden } = hiding(q);
  const isEmpty = keys.every((key) => q.workload.annotations[key] === '');
  return hidden.length > 0 && isEmpty ? [keys.map((key) => remove(q, 'metadata', key))] : [];
}

const listKey = (q: Question): string => q.policy.keys.named[q.source.ref.kind];

/** Whether there is a named list to write the name into. */
const hasList = (q: Question): boolean => Object.hasOwn(annotationsOf(q.workload, textsOf(q).place), listKey(q));

/** The named list with this source added. */
function listWithIt(q: Question): string {
  const before = textsOf(q)
    .named.split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '')
    .join(',');
  return before === '' ? q.source.ref.name : `${before},${q.source.ref.name}`;
}

const nameIt = (q: Question): Step => set(q, hasList(q) ? textsOf(q).place : placeToAsk(q), listKey(q), listWithIt(q));

/** Where SAP's annotation lists others of the kind, it can list this one too. */
function enlist(q: Question): readonly (readonly Step[])[] {
  const { kind, name } = q.source.ref;
  const list = q.workload.intent.asks.find(({ listed, wants }) => listed && wants.kind === kind);
  if (!list?.listed || kind === 'SecretProviderClass' || q.isForeign) return [];
  return [[set(q, 'metadata', SAP_LISTS[kind], [...list.listed[kind], name].join(','))]];
}

const disablingLabels = ({ workload: { labels } }: Question): readonly string[] =>
  Object.keys(labels).filter((key) => labels[key] === 'true');

const unlabel = (q: Question, key: string): Step => ({
  text: `remove label ${key} from ${theWorkload(q)}`,
  after: (now) => {
    const { [key]: _, ...labels } = now.workload.labels;
    return reparsed(now, { labels });
  },
});

function replaceAuto(q: Question): Step {
  const { auto } = q.policy.keys;
  const { place, auto: value } = textsOf(q);
  const list = listWithIt(q);
  return {
    text: `replace ${annotationText(auto, value)} by ${annotationText(listKey(q), list)} in ${placeIn(q, place)}`,
    after: (now) => edited(now, place, { [auto]: undefined, [listKey(q)]: list }),
  };
}

const isUsed = ({ use }: Question): boolean => use?.container !== undefined;

/**
 * Where a new annotation must go. The pod template is read only while metadata has none of the keys: a first key in
 * metadata would put an end to what is asked for there.
 */
function placeToAsk(q: Question): Place {
  if (textsOf(q).place === 'metadata') return 'metadata';
  const isAskedThere = SOURCE_KINDS.some((kind) => {
    const { place, named, auto, typedAuto, search } = askingTexts(kind, q.workload, q.policy.keys);
    return place === 'template' && (search === 'true' || named !== '' || auto !== '' || typedAuto !== '');
  });
  return isAskedThere ? 'template' : 'metadata';
}

const set = (q: Question, place: Place, key: string, value: string): Step => ({
  text: `set ${annotationText(key, value)} in ${placeIn(q, place)}`,
  after: (now) => edited(now, place, { [key]: value }),
});

const remove = (q: Question, place: Place, key: string): Step => ({
  text: `remove ${key} from ${placeIn(q, place)}`,
  after: (now) => edited(now, place, { [key]: undefined }),
});

const placeIn = (q: Question, place: Place): string => `${placeText(place)} of ${theWorkload(q)}`;

const annotationsOf = (workload: Workload, place: Place): Annotations =>
  place === 'metadata' ? workload.annotations : workload.templateAnnotations;

/** The workload with other annotations; undefined takes one away. */
function edited(now: Case, place: Place, edits: Readonly<Record<string, string | undefined>>): Case {
  const { workload } = now;
  const kept = Object.entries({ ...annotationsOf(workload, place), ...edits }).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  const changed = Object.fromEntries(kept);
  return reparsed(now, place === 'metadata' ? { annotations: changed } : { templateAnnotations: changed });
}

function reparsed(now: Case, edits: Partial<Annotated>): Case {
  const workload = { ...now.workload, ...edits };
  return { ...now, workload: { ...workload, intent: parseIntent(workload.ref.kind, workload, now.policy) } };
}
