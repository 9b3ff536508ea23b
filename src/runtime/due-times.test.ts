import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DueTimes } from './due-times.ts';

/** The same thing, slow and obvious: a list, of which the first with the least due time is next. */
class Model {
  entries: { readonly key: number; readonly at: number }[] = [];

  get next() {
    return this.entries.toSorted((a, b) => a.at - b.at)[0];
  }

  drop(key: number | undefined): boolean {
    const before = this.entries.length;
    this.entries = this.entries.filter((entry) => entry.key !== key);
    return this.entries.length < before;
  }
}

type Step = (due: DueTimes<number>, model: Model) => void;

const anyKey = fc.integer({ min: 0, max: 9 });
const time = fc.integer({ min: 0, max: 20 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.tuple(anyKey, time).map(
    ([k, at]): Step =>
      (due, model) => {
        due.set(k, at);
        model.drop(k);
        model.entries.push({ key: k, at });
      },
  ),
  anyKey.map(
    (k): Step =>
      (due, model) => {
        expect(due.delete(k)).toBe(model.drop(k));
      },
  ),
  time.map(
    (now): Step =>
      (due, model) => {
        const next = model.next;
        const expected = next && next.at <= now ? next.key : undefined;
        expect(due.takeDue(now)).toBe(expected);
        model.drop(expected);
      },
  ),
);

test('whatever is set, moved and deleted: keys come out by due time, then in the order in which it was set', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const due = new DueTimes<number>();
      const model = new Model();
      for (const act of steps) {
        act(due, model);
        expect(due.size).toBe(model.entries.length);
        expect(due.first).toBe(model.next?.at);
        for (const entry of model.entries) expect(due.at(entry.key)).toBe(entry.at);
      }
    }),
    { numRuns: 500 },
  );
});
