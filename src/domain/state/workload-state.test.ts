import fc from 'fast-check';
import { expect, test } from 'vitest';
import { APP, rulesOf, source, web } from '../../../test/support/engine-world.ts';
import { change } from '../../../test/support/telling-world.ts';
import { SourceHistory } from '../../model/sources/source-history.ts';
import { type Applied, UNKNOWN } from '../ledger/applied.ts';
import type { Change } from '../outcome/change.ts';
import type { Workload } from '../workload/workload.ts';
import { WorkloadState } from './workload-state.ts';

const ID = 'ConfigMap/app';
const LIFECYCLE = { compat: false, reloadOnCreate: false, reloadOnDelete: false };
const NEWS = { news: () => undefined, isFollowing: true };

const step = fc.oneof(
  fc.record({ do: fc.constant('data' as const), value: fc.constantFrom('A', 'B', 'C') }),
  fc.record({ do: fc.constant('image' as const), value: fc.constantFrom('v1', 'v2', 'v3') }),
  fc.record({ do: fc.constantFrom('strip', 'complete', 'list', 'blind', 'write', 'refused', 'undone') as never }),
) as fc.Arbitrary<{ readonly do: string; readonly value?: string }>;

/** A workload and its source, and everything that can happen to the two. */
function play() {
  let version = 10;
  let look: { image: string; mark?: string; revision: number; rolledOut: boolean } = {
    ...{ image: 'v1', revision: 1, rolledOut: true },
  };
  const sources = new SourceHistory();
  sources.put(source('A', 5), false);
  const state = new WorkloadState(web(3, look), rulesOf(sources));
  const compare = (begunWith: () => Applied = () => UNKNOWN) =>
    state.compare(APP, { strategy: 'env-vars', lifecycle: LIFECYCLE, begunWith }, version);
  compare(() => 'A');
  const next = (edit: Partial<typeof look>): Workload => {
    version += 1;
    look = { ...look, revision: look.revision + 1, rolledOut: false, ...edit };
    return web(version, look);
  };
  const due = (): Change => {
    const { exact, mark } = sources.get(APP)?.fingerprint ?? { exact: '', mark: '' };
    return { ...change('app'), id: ID, ref: APP, current: exact, since: sources.since(APP), mark };
  };
  const write = (isUndone: boolean): void => {
    const changes = [due()];
    const edit = { env: [], annotations: {}, jsonPatch: false };
    state.writeBegan();
    const before = look;
    const written = next({ mark: changes[0]?.current ?? '' });
    if (isUndone) state.seen(next(before), { by: 'watch', completeUpTo: 0, ...NEWS });
    state.writeAccepted(changes, { changes, edit, second: version }, state.seq + 1);
    if (!isUndone) state.seen(written, { by: 'write', completeUpTo: 0, ...NEWS });
    state.settled(changes, state.seq);
    state.noticeRevert();
  };
  const steps: Record<string, (value: string) => void> = {
    data: (value) => void sources.put(source(value, ++version), false),
    image: (image) => void state.seen(next({ image }), { by: 'watch', completeUpTo: 0, ...NEWS }),
    strip: () => void state.seen(next({ mark: '' }), { by: 'watch', completeUpTo: 0, ...NEWS }),
    complete: () =>
      void state.seen(next({ rolledOut: true, revision: look.revision }), { by: 'watch', completeUpTo: 0, ...NEWS }),
    list: () => void state.seen(next({}), { by: 'list', completeUpTo: version - 1, ...NEWS }),
    blind: () => state.lostSightOf(APP, version),
    refused: () => {
      state.writeBegan();
      state.writeEnded();
    },
    write: () => state.waiting.size > 0 && write(false),
    undone: () => state.waiting.size > 0 && write(true),
  };
  return {
    state,
    current: () => sources.current(APP),
    step(what: string, value = '') {
      steps[what]?.(value);
      compare();
    },
  };
}

test('what waits is never lost: it is applied, waits on, or is visibly given up; and numbers never go back', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const { state, current, ...world } = play();
      for (const { do: what, value } of steps) {
        const { seq } = state;
        world.step(what, value);
        const isApplied = state.applied.get(ID) === current();
        const isWaiting = state.waiting.get(ID) === current();
        expect(isApplied || isWaiting || state.undelivered > 0).toBe(true);
        // Nothing is to be written that differs in nothing.
        expect(isApplied && isWaiting).toBe(false);
        expect(state.seq).toBeGreaterThanOrEqual(seq);
      }
    }),
    { numRuns: 3000 },
  );
});
