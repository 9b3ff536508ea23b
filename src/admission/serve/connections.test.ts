import { describe, expect, test } from 'vitest';
import { type Connection, Connections } from './connections.ts';

function table(most: number) {
  const connections = new Connections(most);
  const closed: string[] = [];
  const open = (place: string): Connection => {
    const connection = { client: place.slice(0, 1), place, close: () => void closed.push(place) };
    connections.opened(connection);
    return connection;
  };
  /** A request that was a review, or none, from its head to its answer. */
  const ask = (connection: Connection, isReview: boolean): void => {
    expect(connections.began(connection.place)).toBe(connection);
    if (isReview) connections.proved(connection);
    connections.ended(connection);
  };
  return { connections, closed, open, ask };
}

describe('at the limit', () => {
  test('the oldest idle connection goes first', () => {
    const { closed, open, ask } = table(4);
    const [a1] = ['a1', 'b1', 'a2', 'b2'].map(open);
    if (a1) ask(a1, false);
    for (const place of ['c1', 'c2', 'd1']) open(place);
    expect(closed).toEqual(['b1', 'a2', 'b2']);
  });

  test('those that never sent a valid review go before all others', () => {
    const { closed, open, ask } = table(4);
    const [a1, a2] = ['a1', 'a2', 'b1', 'b2'].map(open);
    for (const proven of [a1, a2]) if (proven) ask(proven, true);
    for (const place of ['c1', 'c2', 'd1', 'd2', 'e1']) open(place);
    expect(closed).toEqual(['b1', 'b2', 'c1', 'c2', 'd1']);
  });

  test('one with a request under way stays; the new one goes if there is no other', () => {
    const { connections, closed, open } = table(2);
    const [a, b] = ['a1', 'b1'].map(open) as [Connection, Connection];
    for (const { place } of [a, b]) connections.began(place);
    open('c1');
    expect(closed).toEqual(['c1']);
    connections.ended(b);
    open('d1');
    expect(closed).toEqual(['c1', 'b1']);
  });

  test('one with two requests under way is idle after both', () => {
    const { connections, closed, open } = table(2);
    const a = open('a1');
    for (let times = 0; times < 2; times += 1) connections.began(a.place);
    connections.ended(a);
    open('b1');
    open('c1');
    expect(closed).toEqual(['b1']);
    connections.ended(a);
    connections.began('c1');
    open('d1');
    expect(closed).toEqual(['b1', 'a1']);
  });

  test('one client has half, and takes no place of another', () => {
    const { closed, open } = table(4);
    for (const place of ['b1', 'a1', 'a2', 'a3', 'a4', 'a5']) open(place);
    expect(closed).toEqual(['a1', 'a2', 'a3']);
  });

  test('also with reviews: its own that never sent one go first, then its own that did', () => {
    const { closed, open, ask } = table(4);
    ask(open('b1'), false);
    ask(open('a1'), true);
    open('a2');
    ask(open('a3'), true);
    open('a4');
    expect(closed).toEqual(['a2', 'a1']);
  });
});

test('a connection takes no request when it is closed', () => {
  const { connections, open } = table(4);
  const connection = open('a1');
  expect(connections.began('a1')).toBe(connection);
  connections.ended(connection);
  expect(connections.began('a1')).toBe(connection);
  connections.closed(connection);
  connections.ended(connection);
  expect(connections.began('a1')).toBeUndefined();
});

test('all are closed at the end', () => {
  const { connections, closed, open } = table(4);
  for (const place of ['a1', 'b1']) open(place);
  connections.closeAll();
  connections.closeAll();
  expect(closed).toEqual(['a1', 'b1']);
});
