import { describe, expect, it } from 'vitest';
import type { TlsStatus } from '../cluster-view.ts';
import { type Circumstances, nextTurn, type Offer, type Standing } from './rotation.ts';

const NOW = 1_000_000;
const OVERLAP = 60_000;
const standing: Standing = { chain: 'leaf-1', signedBy: 'old', trusted: ['old'], endsMs: NOW + 1e9 };
const both = ['new', 'old'];

const around = (
  peers: Readonly<Record<string, Partial<TlsStatus> | undefined>> = {},
  more: Partial<Circumstances> = {},
): Circumstances => ({
  peers: new Map(
    Object.entries(peers).map(([name, tls]) => [name, tls && ({ state: 'Applied', ...tls } satisfies TlsStatus)]),
  ),
  overlapMs: OVERLAP,
  nowMs: NOW,
  ...more,
});

const offer = (chain: string, signedBy: string, ...authorities: string[]): Offer => ({ chain, signedBy, authorities });
const renewed = offer('leaf-2', 'old', 'old');
const moved = offer('leaf-2', 'new', 'new');
const onOld = { trusted: ['old'], signedBy: 'old' };
const onBoth = { trusted: both, signedBy: 'old' };
const onNew = { trusted: both, signedBy: 'new' };

describe('what is served', () => {
  const apart: Offer = offer('leaf-3', 'third', 'third');
  const back: Standing = { ...standing, chain: 'leaf-2', signedBy: 'new', trusted: both };

  it.each([
    ['the first certificates', [moved, undefined, around({ 'redis-1': undefined })], 'offered Settled: new'],
    ['nothing new', [offer('leaf-1', 'old', 'old'), standing, around({ 'redis-1': onOld })], 'offered Settled: old'],
    ['a renewed leaf', [renewed, standing, around({ 'redis-1': onOld })], 'offered Settled: old'],
    ['the same, and a pod is silent', [renewed, standing, around({ 'redis-1': undefined })], 'offered Settled: old'],
    ['an unknown authority', [moved, standing, around({ 'redis-1': onOld })], 'standing Trusted: new old'],
    ['one that not all know', [moved, standing, around({ a: onBoth, b: undefined })], 'standing Trusted: new old'],
    ['one that all trust', [moved, standing, around({ a: onBoth, b: onNew })], 'offered Served: new old'],
    ['an authority, and no other pod', [moved, standing, around()], 'offered Served: new old'],
    ['expired', [moved, { ...standing, endsMs: NOW }, around({ 'redis-1': onOld })], 'offered Served: new old'],
    [
      'a further one',
      [offer('leaf-1', 'old', 'old', 'new'), standing, around({ a: onOld })],
      'offered Settled: new old',
    ],
    ['a third', [apart, { ...standing, trusted: both }, around({ a: onBoth })], 'standing Trusted: new old third'],
    ['the old files again', [offer('leaf-1', 'old', 'old'), back, around({ a: onNew })], 'offered Served: new old'],
  ] as const)('%s', (_, [files, now, circumstances], expected) => {
    const { leaf, phase, trusted } = nextTurn(files, now, circumstances);
    expect(`${leaf} ${phase}: ${trusted.join(' ')}`).toBe(expected);
  });

  it('names the pods that are waited for, and when to wait is in vain', () => {
    const turn = nextTurn(moved, standing, around({ 'redis-2': undefined, 'redis-1': onOld, 'redis-0': onBoth }));
    expect(turn.wait).toEqual({ kind: 'trust', pods: ['redis-1', 'redis-2'], untilMs: standing.endsMs });
  });
});

describe('when an earlier authority is dropped', () => {
  const served: Standing = { ...standing, chain: 'leaf-2', signedBy: 'new', trusted: both };
  const agreed = (sinceMs: number, ...on: string[]): Standing => ({ ...served, agreed: { on, sinceMs } });

  it.each([
    [
      'a pod serves a leaf of it',
      agreed(0, 'new'),
      around({ 'redis-1': onBoth }),
      { kind: 'leaves', pods: ['redis-1'] },
    ],
    [
      'a pod says nothing',
      agreed(0, 'new'),
      around({ 'redis-1': onNew, 'redis-2': undefined }),
      { kind: 'leaves', pods: ['redis-2'] },
    ],
    [
      'nobody has seen yet that all agree',
      served,
      around({ 'redis-1': onNew }),
      { kind: 'overlap', untilMs: NOW + OVERLAP },
    ],
    ['not even with an overlap of nothing', served, around({}, { overlapMs: 0 }), { kind: 'overlap', untilMs: NOW }],
    [
      'the overlap is not over',
      agreed(NOW - OVERLAP + 1, 'new'),
      around({ 'redis-1': onNew }),
      { kind: 'overlap', untilMs: NOW + 1 },
    ],
    [
      'they agreed on other authorities',
      agreed(0, 'new', 'third'),
      around({ 'redis-1': onNew }),
      { kind: 'overlap', untilMs: NOW + OVERLAP },
    ],
    [
      'the clock was set back',
      agreed(NOW + 1e9, 'new'),
      around({ 'redis-1': onNew }),
      { kind: 'overlap', untilMs: NOW + OVERLAP },
    ],
  ] as const)('not while %s', (_, now, circumstances, wait) => {
    expect(nextTurn(moved, now, circumstances)).toMatchObject({
      leaf: 'offered',
      trusted: both,
      phase: 'Served',
      wait,
    });
  });

  it('after the overlap', () => {
    const turn = nextTurn(moved, agreed(NOW - OVERLAP, 'new'), around({ 'redis-1': onNew }));
    expect(turn).toEqual({ leaf: 'offered', trusted: ['new'], phase: 'Settled' });
  });

  it('a pod that is away for a while does not begin the overlap anew', () => {
    const turn = nextTurn(moved, agreed(NOW - 5, 'new'), around({ 'redis-1': undefined }));
    expect(turn.agreed).toEqual({ on: ['new'], sinceMs: NOW - 5 });
  });

  it('a new leaf begins it anew', () => {
    const turn = nextTurn(offer('leaf-3', 'new', 'new'), agreed(0, 'new'), around());
    expect(turn).toMatchObject({ phase: 'Served', agreed: { on: ['new'], sinceMs: NOW } });
  });
});

describe('three pods whose files change one after another, and who hear of each other late', () => {
  const names = ['redis-0', 'redis-1', 'redis-2'];

  const world = () => ({
    pods: new Map(names.map((name) => [name, { ...standing, chain: `${name}-1`, phase: 'Settled' as string }])),
    told: new Map<string, TlsStatus>(names.map((name) => [name, { state: 'Applied', ...onOld }])),
  });

  /** One pass of a pod; without `tells` its status does not get through. */
  const pass = ({ pods, told }: ReturnType<typeof world>, name: string, nowMs: number, tells: boolean): void => {
    const now = pods.get(name) ?? { ...standing, phase: '' };
    const peers = new Map([...told].filter(([other]) => other !== name));
    const turn = nextTurn(offer(`${name}-2`, 'new', 'new'), now, { peers, overlapMs: 5, nowMs });
    const leaf = turn.leaf === 'offered' ? { chain: `${name}-2`, signedBy: 'new' } : {};
    const next = { ...now, ...leaf, trusted: turn.trusted, agreed: turn.agreed, phase: turn.phase };
    pods.set(name, next);
    if (tells) told.set(name, { state: 'Applied', trusted: next.trusted, signedBy: next.signedBy });
  };

  const refusals = ({ pods }: ReturnType<typeof world>): readonly string[] =>
    [...pods].flatMap(([name, { trusted }]) =>
      [...pods].flatMap(([other, { signedBy }]) => (trusted.includes(signedBy) ? [] : [`${name} refuses ${other}`])),
    );

  it.each([...Array(50).keys()])('order %i: no two ever refuse each other, and all settle', (seed) => {
    const random = generator(seed);
    const pick = (): string => names[Math.floor(random() * names.length)] ?? '';
    const three = world();
    const changed = new Set<string>();
    const refused: string[] = [];
    for (let step = 0; step < 100; step += 1) {
      if (random() < 0.1) changed.add(pick());
      const name = pick();
      if (changed.has(name)) pass(three, name, step, random() < 0.7);
      refused.push(...refusals(three));
    }
    for (let step = 100; step < 130; step += 1) for (const name of names) pass(three, name, step, true);
    expect(refused).toEqual([]);
    expect([...three.pods.values()].map(({ phase, trusted }) => [phase, trusted])).toEqual(
      names.map(() => ['Settled', ['new']]),
    );
  });
});

/** Numbers in [0, 1) that are the same for the same seed. */
function generator(seed: number): () => number {
  let state = seed + 1;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}
