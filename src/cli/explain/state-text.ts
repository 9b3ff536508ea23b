import type { Ages } from '../../domain/workload/pod-age.ts';
import type { Hold } from '../../domain/workload/progress.ts';
import { type Paint, span } from '../terminal/table.ts';
import type { State } from './standing.ts';

type Context = { readonly isLedgerKnown: boolean; readonly paint: Paint; readonly nowMs: number };

/** How things stand, in a line. */
export const stateText = (state: State, context: Context): string => WORDS[state.is](state, context);

const FROM: Readonly<Record<State['from'], string>> = {
  mark: 'the mark',
  record: 'the record on it',
  checkpoint: 'the checkpoint',
  pods: 'the age of the pods',
  nothing: 'nobody',
};

const WORDS: Readonly<Record<State['is'], (state: State, context: Context) => string>> = {
  current: ({ pods, from, since }, { paint, nowMs }) => {
    if (pods?.total === 0) return 'no pods run: the next ones begin with its data as it is';
    const isNewer = pods !== undefined && pods.older === 0 && pods.unclear === 0;
    const why = isNewer ? `: ${allOf(pods)} began after its last write${ago(since, nowMs)}` : `, says ${FROM[from]}`;
    return `${paint('green', 'up to date')}${why}`;
  },
  marked: ({ pods, progress, hold }, { paint }) => {
    const old = pods && pods.older > 0 ? older(pods, 'the change') : ofEarlier(progress);
    return `${paint('yellow', `marked but not rolled out: ${old}`)}; ${HOLDS[hold ?? 'rolling']}`;
  },
  older: (state, { paint, isLedgerKnown, nowMs }) => {
    const { pods, since, why } = state;
    const old = paint('yellow', `${pods ? older(pods, 'its last write') : ''}${ago(since, nowMs)}`);
    if (why !== undefined) return `${old}; what they run with is not known: ${why}`;
    return `${old}; ${isLedgerKnown ? nothingWaits(state) : 'whether a rollout waits is not known'}`;
  },
  gone: () => 'its pods keep what they have, and roll if it returns with other data',
  absent: () => 'there is nothing to run with',
  undelivered: (_, { paint }) =>
    paint('red', 'not delivered: another writer keeps removing the mark; tried again when the template changes'),
  silent: ({ pods }) => `the data is another than its pods began with${alsoOlder(pods)}`,
  unknown: ({ why }, { paint }) => paint('yellow', `not known${why === undefined ? '' : `: ${why}`}`),
  pending: (state, { paint, nowMs }) => {
    const { change = 'changed', pods, since, until, overdue, restarting } = state;
    if (restarting) return paint('yellow', `its pods are being replaced one by one${alsoOlder(pods)}`);
    const what = change === 'unknown' ? UNSURE : `${change}${ago(since, nowMs, ' ')}`;
    const now = overdue ? 'and overdue: does Attune run, and may it write here?' : rollsWhen(until, nowMs);
    return paint(overdue ? 'red' : 'yellow', `${what}${overdue ? ' ' : ', '}${now}${alsoOlder(pods)}`);
  },
};

const UNSURE = 'what its pods began with is not known, which counts as changed';

const HOLDS: Readonly<Record<Hold, string>> = {
  paused: 'it is paused, and pods are replaced when it is resumed',
  'on-delete': 'OnDelete: a pod is replaced only when somebody deletes it',
  partition: 'its partition keeps pods from being replaced',
  unseen: 'its controller has not looked at it yet',
  rolling: 'they are being replaced, or wait for the new ones to come up',
};

/** What the ledger takes for granted is not proven by it. */
function nothingWaits({ from }: State): string {
  const why =
    from === 'nothing' ? 'what ran when Attune first looked counts as current' : `${FROM[from]} counts it as theirs`;
  return `nothing waits, as ${why}, and they surely have it when they are replaced`;
}

const older = ({ total, older: count }: Ages, than: string): string =>
  `${count} of ${total} pods ${count === 1 ? 'is' : 'are'} older than ${than}`;

const allOf = ({ total }: Ages): string => (total === 1 ? 'its pod' : `its ${total} pods`);

const ofEarlier = (progress: State['progress']): string =>
  progress
    ? `${progress.pods - progress.updated} of ${progress.pods} pods are of an earlier template`
    : 'not all pods are of it';

const alsoOlder = (pods: Ages | undefined): string => (pods && pods.total > 0 ? `; ${older(pods, 'that')}` : '');

const rollsWhen = (until: string | undefined, nowMs: number): string => {
  const left = until === undefined ? 0 : Date.parse(until) - nowMs;
  return `rolls ${left > 0 ? `in ${span(left)}` : 'now'}`;
};

const ago = (time: string | undefined, nowMs: number, before = ', '): string =>
  time === undefined ? '' : `${before}${span(nowMs - Date.parse(time))} ago`;
