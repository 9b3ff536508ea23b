import { expect, test } from 'vitest';
import type { CredentialStatus } from '../cluster-view.ts';
import { nextTurn } from './next-turn.ts';
import type { Rotation } from './rotation.ts';

type Row = readonly [
  what: string,
  phase: Rotation['phase'],
  peers: Readonly<Record<string, CredentialStatus | undefined>>,
  turn: string,
];

const at = (phase: CredentialStatus['phase'], id = 'new'): CredentialStatus => ({ id, phase });

const TABLE: readonly Row[] = [
  ['unproven', undefined, {}, 'prove'],
  ['unproven, whatever others do', undefined, { b: at('Settled') }, 'prove'],
  ['alone in its cluster', 'Accepted', {}, 'use'],
  ['all others accept it', 'Accepted', { b: at('Accepted'), c: at('Accepted') }, 'use'],
  ['others are further', 'Accepted', { b: at('Used'), c: at('Settled') }, 'use'],
  ['one has an earlier password', 'Accepted', { b: at('Accepted'), c: at('Settled', 'old') }, 'accept: c'],
  ['one has not proven it', 'Accepted', { b: at(undefined), c: at('Accepted') }, 'accept: b'],
  ['one says nothing', 'Accepted', { c: undefined, b: undefined }, 'accept: b,c'],
  ['one has no id', 'Accepted', { b: { phase: 'Settled' } }, 'accept: b'],
  ['all others use it', 'Used', { b: at('Used'), c: at('Used') }, 'drop'],
  ['others have settled', 'Used', { b: at('Settled'), c: at('Used') }, 'drop'],
  ['one only accepts it', 'Used', { b: at('Accepted'), c: at('Used') }, 'use: b'],
  ['one has joined', 'Used', { b: at('Used'), c: undefined }, 'use: c'],
  ['one has a newer password', 'Used', { b: at('Used', 'newer') }, 'use: b'],
  ['settled', 'Settled', { b: at('Accepted', 'newer') }, 'rest'],
];

test.each(TABLE)('%s', (_, phase, peers, expected) => {
  const turn = nextTurn({ accepted: ['x', 'y'], phase }, { id: 'new', peers: new Map(Object.entries(peers)) });
  expect(turn.kind === 'wait' ? `${turn.to}: ${turn.pods}` : turn.kind).toBe(expected);
});

test.each([
  [undefined, 'prove'],
  ['Accepted', 'halt'],
  ['Used', 'halt'],
  ['Settled', 'rest'],
] as const)('a key that is missing is not the same as none: %s', (phase, kind) => {
  const others = { id: undefined, peers: new Map(), lacksKey: true };
  expect(nextTurn({ accepted: ['x', 'y'], phase }, others)).toEqual({ kind });
});

test.each([
  ['Accepted', 'use'],
  ['Used', 'drop'],
] as const)('without a key nobody is waited for: %s', (phase, kind) => {
  const peers = new Map([['b', undefined]]);
  expect(nextTurn({ accepted: ['x', 'y'], phase }, { id: undefined, peers })).toEqual({ kind });
});
