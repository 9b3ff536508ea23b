import { expect, test } from 'vitest';
import { objectOf, parse, podUsing } from '../../../test/conformance/given.ts';
import { APP, markOf, rulesOf, source } from '../../../test/support/engine-world.ts';
import { change } from '../../../test/support/telling-world.ts';
import type { KindName } from '../../api/kinds.ts';
import { SourceHistory } from '../../model/sources/source-history.ts';
import { UNKNOWN } from '../ledger/applied.ts';
import type { Workload } from '../workload/workload.ts';
import type { StateRules } from './source-past.ts';
import type { SeenBy } from './transitions.ts';
import { WorkloadState } from './workload-state.ts';

const ID = 'ConfigMap/app';
const LIFECYCLE = { compat: false, reloadOnCreate: false, reloadOnDelete: false };

/** What its controller says of two pods. */
const STATUS: Readonly<Record<string, (isComplete: boolean) => Readonly<Record<string, unknown>>>> = {
  Deployment: (isComplete) => ({ replicas: 2, availableReplicas: 2, updatedReplicas: isComplete ? 2 : 1 }),
  StatefulSet: (isComplete) => ({ readyReplicas: 2, currentRevision: isComplete ? 'b' : 'a', updateRevision: 'b' }),
  DaemonSet: (isComplete) => ({
    ...{ desiredNumberScheduled: 2, numberAvailable: 2, updatedNumberScheduled: isComplete ? 2 : 1 },
  }),
};

interface Play extends Partial<StateRules> {
  readonly kind?: KindName;
  /** As it was found: a rollout was under way. */
  readonly isRolling?: boolean;
  /** The mark that its template had then. */
  readonly found?: string;
}

/** A workload with two pods, of which everything is seen. */
function play({ kind = 'Deployment', isRolling = false, found = '', ...rules }: Play = {}) {
  let version = 10;
  let generation = 1;
  const sources = new SourceHistory();
  sources.put(source('A', 5), false);
  const look = { mark: found, isComplete: !isRolling };
  const workload = (): Workload => {
    const [container] = podUsing('ConfigMap', 'app')['containers'] as [object];
    const env = look.mark ? [{ name: 'STAKATER_APP_CONFIGMAP', value: markOf(look.mark) }] : [];
    const status = STATUS[kind] && { observedGeneration: generation, ...STATUS[kind](look.isComplete) };
    const pod = { containers: [{ ...container, env }] };
    const object = objectOf({ kind, pod, spec: { replicas: 2 }, ...(status && { status }) });
    return parse(kind, { ...object, metadata: { ...object.metadata, resourceVersion: String(version), generation } });
  };
  const state = new WorkloadState(workload(), { ...rulesOf(sources), ...rules });
  const compare = (begunWith = UNKNOWN): void =>
    state.compare(APP, { strategy: 'env-vars', lifecycle: LIFECYCLE, begunWith: () => begunWith }, version);
  compare('A');
  const told: string[] = [];
  const listen = (): void => {
    const { reverted = [], undelivered = [] } = state.takeEffects() ?? {};
    told.push(...reverted.map(() => 'reverted'), ...undelivered.map(() => 'undelivered'));
  };
  const seen = (by: SeenBy, next: Partial<typeof look>): void => {
    version += 1;
    if (next.mark !== undefined) generation += 1;
    Object.assign(look, { isComplete: false }, next);
    state.seen(workload(), { by, completeUpTo: version - 1, news: () => undefined, isFollowing: true });
    compare();
    listen();
  };
  return {
    state,
    told,
    waits: () => state.waiting.size > 0,
    data(value: string): void {
      version += 1;
      sources.put(source(value, version), false);
      compare();
      listen();
    },
    /** What waits is written, and marked. */
    write(): void {
      const { exact, mark } = sources.get(APP)?.fingerprint ?? { exact: '', mark: '' };
      const changes = [{ ...change('app'), current: exact, since: sources.since(APP), mark }];
      state.writeBegan();
      const edit = { env: [], annotations: {}, jsonPatch: false };
      state.writeAccepted(changes, { changes, edit, second: version }, state.seq + 1);
      seen('write', { mark: exact });
      state.settled(changes, state.seq);
      state.noticeRevert();
      listen();
    },
    complete: () => seen('watch', { isComplete: true }),
    /** Another writer's manifest, which has no marks, or an old one. */
    strip: (mark = '') => seen('watch', { mark }),
    stripUnseen: (isComplete: boolean) => seen('list', { mark: '', isComplete }),
  };
}

const TELLING = ['Deployment', 'StatefulSet', 'DaemonSet'] as const;

test.each(TELLING)('%s: without its mark, after the rollout was complete, every pod is new', (kind) => {
  const web = play({ kind });
  web.data('B');
  web.write();
  web.complete();
  for (const _ of [1, 2, 3]) {
    web.strip();
    web.complete();
  }
  expect([web.told, web.waits(), web.state.undelivered]).toEqual([[], false, 0]);
  expect(web.state.applied.get(ID)).toBe('B');
});

test.each(TELLING)('%s: during the rollout it keeps older pods: applied once more, then undelivered', (kind) => {
  const web = play({ kind });
  web.data('B');
  web.write();
  web.strip();
  expect([web.told, web.waits()]).toEqual([['reverted'], true]);
  web.write();
  web.strip();
  expect([web.told, web.waits()]).toEqual([['reverted', 'undelivered'], false]);
  web.complete();
  expect([web.state.undelivered, web.state.applied.get(ID)]).toEqual([1, UNKNOWN]);
});

test.each(['Rollout', 'DeploymentConfig'] as const)('%s: nobody says when older pods are gone', (kind) => {
  const web = play({ kind });
  web.data('B');
  web.write();
  web.strip();
  expect(web.told).toEqual(['reverted']);
});

test.each([
  ['compat', { compat: true }],
  ['sapCompat', { sapCompat: true }],
  ['a server whose versions have no order in common', { sharedVersions: (): boolean => false }],
  ['a lent template, whose borrower has pods of its own', { lendsTemplate: (): boolean => true }],
  ['the same, with pods of a template from before', { lendsTemplate: (): boolean => true, found: 'A' }],
])('%s: after the rollout was complete it is applied once more, too', (_, rules) => {
  const web = play(rules);
  web.data('B');
  web.write();
  web.complete();
  web.strip();
  expect([web.told, web.waits()]).toEqual([['reverted'], true]);
});

test('of a workload that was found during a rollout there may be pods of templates that nobody knows', () => {
  const web = play({ isRolling: true, found: 'A' });
  web.data('B');
  web.write();
  web.strip();
  expect([web.told, web.waits()]).toEqual([['reverted'], true]);
});

test('what changes after the rollout and before the mark is taken away is in the new pods; what changes later is not', () => {
  const web = play();
  web.data('B');
  web.write();
  web.complete();
  web.data('C');
  expect(web.waits()).toBe(true);
  web.strip();
  expect([web.waits(), web.state.applied.get(ID)]).toEqual([false, 'C']);
  web.data('D');
  expect(web.waits()).toBe(true);
});

test('pods that began without the mark are older than the next change: then it counts again', () => {
  const web = play();
  web.data('B');
  web.write();
  web.complete();
  web.strip();
  web.complete();
  web.data('C');
  web.write();
  web.strip();
  expect([web.told, web.waits()]).toEqual([['reverted'], true]);
});

test('a change that arrived at its second attempt has a second attempt again when it comes back', () => {
  const web = play();
  for (const before of ['', 'C']) {
    web.data('B');
    web.write();
    web.strip(before);
    web.write();
    web.complete();
    web.data('C');
    web.write();
    web.complete();
  }
  expect([web.told, web.state.undelivered]).toEqual([['reverted', 'reverted'], 0]);
});

test('a template without any mark has no pods if all were replaced since it was there, also during the next rollout', () => {
  const web = play();
  web.data('B');
  web.write();
  web.complete();
  web.data('C');
  web.write();
  web.strip();
  expect([web.told, web.waits()]).toEqual([[], false]);
});

test.each([
  ['and the rollout was not complete before', false, true],
  ['after a rollout that was complete', true, false],
])('a mark that is gone behind a gap, %s', (_, isComplete, isOpen) => {
  const web = play();
  web.data('B');
  web.write();
  if (isComplete) web.complete();
  web.stripUnseen(true);
  expect([web.told.length > 0, web.waits()]).toEqual([isOpen, isOpen]);
});

test('newer data that waits while the mark of the older is taken away was not taken away: it has a second attempt', () => {
  const web = play();
  web.data('B');
  web.write();
  web.data('C');
  web.strip();
  web.write();
  web.strip();
  expect([web.told, web.waits(), web.state.undelivered]).toEqual([['reverted', 'reverted'], true, 0]);
  web.write();
  web.strip();
  expect([web.told.at(-1), web.waits(), web.state.undelivered]).toEqual(['undelivered', false, 1]);
});
