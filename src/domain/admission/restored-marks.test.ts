import fc from 'fast-check';
import { afterEach, expect, test, vi } from 'vitest';
import { rowOf } from '../../../test/conformance/given.ts';
import { restoreMarks } from './restored-marks.ts';

const SHA1 = 'da39a3ee5e6b4b0d3255bfef95601890afd80709';
const mark = (name: string) => ({ name: `STAKATER_${name}_CONFIGMAP`, value: SHA1 });
const own = (name: string) => ({ name, value: 'x' });
type Variable = ReturnType<typeof own>;
const isMark = ({ name }: Variable): boolean => name.startsWith('STAKATER_');

const objectWith = (env: readonly Variable[]) => ({
  metadata: {},
  spec: { template: { metadata: {}, spec: { containers: [{ name: 'main', env }] } } },
});

/** What the container's variables are after the write. */
function restored(old: readonly Variable[], sent: readonly Variable[]): readonly unknown[] {
  const restoration = restoreMarks(rowOf('Deployment'), objectWith(old), objectWith(sent));
  return restoration?.edit.env[0]?.wanted ?? sent;
}

afterEach(() => vi.restoreAllMocks());

test('each mark comes back to its place, whatever else was sent', () => {
  const variable = fc.constantFrom(...['A', 'B', 'C'].map(mark), ...['D', 'E', 'F'].map(own));
  const env = fc.array(variable, { maxLength: 8 });
  fc.assert(
    fc.property(env, env, (old, sent) => {
      const expected = old.some(isMark) ? sent.filter((each) => !isMark(each)) : [...sent];
      old.forEach((each, index) => {
        if (isMark(each)) expected.splice(index, 0, each);
      });
      expect(restored(old, sent)).toEqual(expected);
    }),
  );
});

test.each([
  ['of many names', (index: number) => mark(`N${index}`)],
  ['of one name', () => mark('N')],
])('as many marks as a megabyte holds, %s: no list is moved for each of them', (_, each) => {
  const count = 12_000;
  let moved = 0;
  const { splice, shift } = Array.prototype;
  vi.spyOn(Array.prototype, 'splice').mockImplementation(function (this: unknown[], at: number, ...rest) {
    moved += this.length - at;
    return Reflect.apply(splice, this, [at, ...rest]);
  });
  vi.spyOn(Array.prototype, 'shift').mockImplementation(function (this: unknown[]) {
    moved += this.length;
    return Reflect.apply(shift, this, []);
  });
  const marks = Array.from({ length: count }, (_each, index) => each(index));
  const others = Array.from({ length: count }, (_each, index) => own(`V${index}`));
  expect(restored(marks, others)).toHaveLength(2 * count);
  restored(marks, marks.toReversed());
  expect(moved).toBeLessThan(count);
});
