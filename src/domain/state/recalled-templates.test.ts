import { expect, test } from 'vitest';
import { APP, type Look, parsed, rulesOf, source, webObject } from '../../../test/support/engine-world.ts';
import { SourceHistory } from '../../model/sources/source-history.ts';
import type { Workload } from '../workload/workload.ts';
import { shortDigest } from './recent-templates.ts';
import { WorkloadState } from './workload-state.ts';

const UNMARKED: Look = { revision: 1 };
const MARKED: Look = { revision: 2, mark: 'B', rolledOut: true };
const SCALED: Look = { ...MARKED, revision: 3, replicas: 2 };

const workload = (version: number, look: Look, observed = look.revision): Workload => {
  const object = webObject(version, look);
  return parsed({ ...object, ...(object.status && { status: { ...object.status, observedGeneration: observed } }) });
};

/** What the record of our write says: two templates, and B in the pods of the last. */
const RECORD = {
  ...{ seq: 1, reloads: {}, missedAfter: undefined, template: undefined },
  templates: {
    kept: [UNMARKED, MARKED].map((look, at) => [shortDigest(workload(1, look).fullTemplateDigest), at] as const),
    applied: new Map([['ConfigMap/app', 'B']] as const),
  },
};

/** After a restart that found it so, and perhaps saw more before all was listed, another writer takes the mark away. */
function stripped(found: Workload, ...more: readonly Workload[]): boolean {
  const sources = new SourceHistory();
  sources.put(source('B', 5), false);
  const state = new WorkloadState(found, rulesOf(sources));
  const seen = (next: Workload, isFollowing: boolean): void =>
    void state.seen(next, { by: 'watch', completeUpTo: 0, news: () => undefined, isFollowing });
  for (const next of more) seen(next, false);
  state.recall(RECORD);
  const lifecycle = { compat: false, reloadOnCreate: false, reloadOnDelete: false };
  const compare = (): void => state.compare(APP, { strategy: 'env-vars', lifecycle, begunWith: () => 'B' }, 0);
  compare();
  seen(workload(30, { ...UNMARKED, revision: 9, rolledOut: false }), true);
  compare();
  return state.waiting.size > 0;
}

test.each([
  ['the rollout was complete: every pod is new', [workload(10, MARKED)], false],
  [
    'it was completed before all was listed',
    [workload(10, { ...MARKED, rolledOut: false }), workload(11, MARKED)],
    false,
  ],
  ['the rollout was under way', [workload(10, { ...MARKED, rolledOut: false })], true],
  ['the status was older than the template', [workload(10, MARKED, 1)], true],
  [
    'a rollout began before all was listed',
    [workload(10, MARKED), workload(11, { ...SCALED, rolledOut: false })],
    true,
  ],
])('the mark is taken away after a restart, and %s', (_, [found, ...more], isOpen) => {
  expect(stripped(found as Workload, ...more)).toBe(isOpen);
});
