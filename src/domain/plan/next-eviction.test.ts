import { expect, test } from 'vitest';
import type { Pod } from '../workload/pod.ts';
import { type EvictionFacts, nextEviction } from './next-eviction.ts';

const NOW = 1_000_000;
const pod = (name: string, parts: Partial<Pod> = {}): Pod => ({
  ...{ name, uid: `uid-${name}`, maker: 'rs', hasEnded: false, isRunning: true, readySince: 100 },
  ...parts,
});
const UNREADY = { readySince: undefined };
const GOING = { isRunning: false };

interface Given {
  readonly pods: readonly Pod[];
  /** Names of the pods of the restart. */
  readonly of: readonly string[];
  readonly wanted?: number;
  readonly isComplete?: boolean;
  readonly minReadyMs?: number;
  readonly evicted?: readonly string[];
}

function next({ pods, of, wanted = 3, isComplete = true, minReadyMs = 0, evicted = [] }: Given) {
  const uids = of.map((name) => `uid-${name}`);
  const facts: EvictionFacts = {
    pods,
    isOwn: ({ maker }) => maker === 'rs',
    evicted: new Set(evicted.map((name) => `uid-${name}`)),
    availability: { wanted, isComplete, minReadyMs, deadlineMs: 600_000 },
    now: NOW,
  };
  const step = nextEviction({ at: 0, version: 0, pods: uids.length, uids, changes: {} }, facts);
  if (step.do === 'evict') return `evict ${step.pod.name}`;
  return step.do === 'wait' ? `wait ${step.for}` : step.do;
}

const [a, b, c] = [pod('web-2'), pod('web-9'), pod('web-10')];
const ALL = ['web-2', 'web-9', 'web-10'];

test.each<[string, Given, string]>([
  ['of those that can be spared the last goes first', { pods: [a, b, c], of: ALL }, 'evict web-10'],
  ['only its own pods go', { pods: [a, b, pod('new')], of: ['web-2'] }, 'evict web-2'],
  ['none is left', { pods: [a, b, c], of: ['gone'] }, 'done'],
  ['a pod that has ended is none', { pods: [pod('web-2', { hasEnded: true, isRunning: false })], of: ALL }, 'done'],
  [
    'those that are left are about to end',
    { pods: [b, c, pod('new'), pod('web-2', GOING)], of: ['web-2'] },
    'wait ending',
  ],
  [
    'one that does not end keeps the place of another',
    { pods: [b, c, pod('web-2', GOING)], of: ['web-2'] },
    'wait recover',
  ],
  ['one is missing', { pods: [a, b], of: ALL }, 'wait recover'],
  ['the new one is not ready', { pods: [a, b, pod('new', UNREADY)], of: ALL }, 'wait recover'],
  [
    'the new one is not ready for long enough',
    { pods: [a, b, pod('new', { readySince: 999 })], of: ALL, minReadyMs: 5000 },
    'wait recover',
  ],
  ['it is now', { pods: [a, b, pod('new', { readySince: 995 })], of: ALL, minReadyMs: 5000 }, 'evict web-9'],
  ['a pod of somebody else is not counted', { pods: [a, b, pod('other', { maker: 'x' })], of: ALL }, 'wait recover'],
  ['what the watch does not know yet', { pods: [a, b, c], of: ALL, evicted: ['web-10'] }, 'wait recover'],
  ['its own controller knows better', { pods: [a, b, c], of: ALL, isComplete: false }, 'wait recover'],
  [
    'what is unready and has to go anyway goes first',
    { pods: [pod('web-2', UNREADY), b, c], of: ALL, isComplete: false },
    'evict web-2',
  ],
  [
    'but not while another is missing',
    { pods: [pod('web-2', UNREADY), b], of: ALL, isComplete: false },
    'wait recover',
  ],
])('%s', (_, given, expected) => {
  expect(next(given)).toBe(expected);
});
