import { expect, test } from 'vitest';
import { type MasterauthFacts, masterauthOf } from './masterauth.ts';

/** A password and its digest in these tests: `p1` and `#p1`. */
const rotation = (phase: 'Accepted' | 'Used' | 'Settled' | undefined, ...accepted: readonly string[]) => ({
  accepted: accepted.map((text) => `#${text}`),
  phase,
});

const NOTHING: MasterauthFacts = {
  current: '',
  currentDigest: '#',
  upstream: undefined,
  needsPassword: true,
  rotation: undefined,
  textOf: () => undefined,
};
const knows = (...texts: readonly string[]): Pick<MasterauthFacts, 'textOf'> => ({
  textOf: (digest) => texts.find((text) => `#${text}` === digest),
});
const has = (text: string) => ({ current: text, currentDigest: `#${text}` });

type Row = readonly [what: string, facts: Partial<MasterauthFacts>, password: string | undefined];

const TABLE: readonly Row[] = [
  ['A1 S5 none is wished, none is known', { needsPassword: false }, ''],
  ['A10 one is wished, none is known', {}, undefined],
  ['S4 a source of its own', { upstream: { password: 'up' }, rotation: rotation('Settled', 'p1') }, 'up'],
  ['A10 a source whose password is missing', { upstream: { password: undefined }, needsPassword: false }, undefined],
  ['S2 the only one', { rotation: rotation('Settled', 'p1'), ...knows('p1') }, 'p1'],
  ['settled, but the file is away', { rotation: rotation('Settled', 'p1') }, undefined],
  ['not everybody accepts the new one', { rotation: rotation('Accepted', 'p1', 'p2'), ...has('p1') }, undefined],
  ['Redis knows none after its start', { rotation: rotation('Accepted', 'p1', 'p2'), ...knows('p1', 'p2') }, 'p1'],
  ['nor does a new agent', { rotation: rotation('Accepted', 'p1', 'p2'), ...knows('p2') }, 'p2'],
  ['it has a stranger', { rotation: rotation(undefined, 'p1', 'p2'), ...has('x'), ...knows('p1', 'p2') }, 'p1'],
  ['in use', { rotation: rotation('Used', 'p1', 'p2'), ...has('p1'), ...knows('p1', 'p2') }, 'p2'],
  ['none is wished any more', { needsPassword: false, rotation: rotation('Settled', 'p1'), ...has('p1') }, undefined],
];

test.each(TABLE)('%s', (_, facts, password) => {
  expect(masterauthOf({ ...NOTHING, ...facts })).toBe(password);
});
