import { expect, test } from 'vitest';
import { web } from '../../../test/support/engine-world.ts';
import { change, rolled } from '../../../test/support/telling-world.ts';
import type { Outcome } from '../../domain/outcome/outcome.ts';
import { OutcomeFeed } from './outcome-feed.ts';

const PROBLEM = { path: 'a', message: 'cannot be read' };
const invalid = (...problems: (typeof PROBLEM)[]): Outcome => ({ is: 'invalid', workload: web(3), problems });

function feeding(mayTell = () => true) {
  const shown: Outcome[] = [];
  const feed = new OutcomeFeed(mayTell, [(outcome) => void shown.push(outcome)]);
  return { feed, shown };
}

test('a problem is told once, a new one beside it by itself, and all again when the workload was gone', () => {
  const { feed, shown } = feeding();
  const other = { ...PROBLEM, path: 'b' };
  feed.tell(invalid(PROBLEM));
  feed.tell(invalid(PROBLEM));
  feed.tell(invalid(PROBLEM, other));
  expect(shown).toMatchObject([{ problems: [PROBLEM] }, { problems: [other] }]);
  feed.forget(web(4));
  feed.tell(invalid(PROBLEM));
  expect(shown[2]).toMatchObject({ problems: [PROBLEM] });
});

test('a standby tells of nothing that the leader tells, and of it all when it leads', () => {
  let leads = false;
  const { feed, shown } = feeding(() => leads);
  feed.tell(invalid(PROBLEM));
  expect(shown).toEqual([]);
  leads = true;
  feed.tell(invalid(PROBLEM));
  expect(shown).toHaveLength(1);
});

test('what was written is told, also when the term has ended meanwhile', () => {
  const { feed, shown } = feeding(() => false);
  feed.tell(rolled([change('app')]));
  expect(shown).toHaveLength(1);
});
