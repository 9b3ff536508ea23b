import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  AUTHORITY_LIVES,
  type CertificateStep,
  certificatePlan,
  SPREAD_MS,
  type Standing,
} from './certificate-plan.ts';

const LIFE = 60 * 60_000;
const END = 2 * AUTHORITY_LIVES * LIFE;
const authority = (madeMs: number, lifeMs = AUTHORITY_LIVES * LIFE) => ({ madeMs, notAfterMs: madeMs + lifeMs });
const leaf = (madeMs: number, by = 0, fits = true, lifeMs = LIFE) => ({
  madeMs,
  notAfterMs: madeMs + lifeMs,
  by,
  fits,
});
const two = (second: number) => [authority(0), authority(second)];
const HALF = (AUTHORITY_LIVES * LIFE) / 2;

describe('what is due', () => {
  it.each<[string, Standing, now: number, CertificateStep]>([
    [
      'nothing, right after the beginning',
      { authorities: [authority(0)], leaf: leaf(0) },
      1000,
      { step: 'wait', untilMs: (2 / 3) * LIFE },
    ],
    [
      'a leaf after two thirds of its life',
      { authorities: [authority(0)], leaf: leaf(0) },
      (2 / 3) * LIFE,
      { step: 'leaf', by: 0, keepFrom: 0, because: 'due' },
    ],
    [
      'a leaf for the right hosts, also by a young authority',
      { authorities: [authority(0)], leaf: leaf(0, 0, false) },
      1000,
      { step: 'leaf', by: 0, keepFrom: 0, because: 'hosts' },
    ],
    [
      'the next authority after half of the life of the first',
      { authorities: [authority(0)], leaf: leaf(HALF - 1) },
      HALF,
      { step: 'authority' },
    ],
    [
      'nothing, until the next one is known everywhere',
      { authorities: two(HALF), leaf: leaf(HALF - 1) },
      HALF + 1000,
      { step: 'wait', untilMs: HALF + SPREAD_MS },
    ],
    [
      'meanwhile a leaf by the old one, which stays',
      { authorities: two(HALF), leaf: leaf(0) },
      HALF + 1000,
      { step: 'leaf', by: 0, keepFrom: 0, because: 'due' },
    ],
    [
      'then a leaf by the next one, and the old one stays',
      { authorities: two(HALF), leaf: leaf(HALF - 1) },
      HALF + SPREAD_MS,
      { step: 'leaf', by: 1, keepFrom: 0, because: 'authority' },
    ],
    [
      'other hosts are no reason to drop the old one',
      { authorities: two(HALF), leaf: leaf(HALF + SPREAD_MS, 1, false) },
      HALF + SPREAD_MS + 1000,
      { step: 'leaf', by: 1, keepFrom: 0, because: 'hosts' },
    ],
    [
      'with the renewal after that the old one goes',
      { authorities: two(HALF), leaf: leaf(HALF + SPREAD_MS, 1) },
      HALF + SPREAD_MS + LIFE,
      { step: 'leaf', by: 1, keepFrom: 1, because: 'due' },
    ],
    ['a new beginning when all has expired', { authorities: [authority(0)], leaf: leaf(0) }, END, { step: 'start' }],
    [
      'a new beginning when the authority ends before another could be known',
      { authorities: [authority(0)], leaf: leaf(0) },
      AUTHORITY_LIVES * LIFE - SPREAD_MS,
      { step: 'start' },
    ],
    [
      'the next authority at once, where the old one ended too early',
      { authorities: two(AUTHORITY_LIVES * LIFE - 1000), leaf: leaf(0) },
      AUTHORITY_LIVES * LIFE,
      { step: 'leaf', by: 1, keepFrom: 0, because: 'authority' },
    ],
    [
      'no leaf that would end with the one that is there',
      { authorities: two(4 * LIFE - 30_000), leaf: leaf(4 * LIFE - 20_000, 0, true, 20_000) },
      4 * LIFE - 5000,
      { step: 'wait', untilMs: 4 * LIFE },
    ],
    [
      'a leaf that lives longer than it is to live now',
      { authorities: [authority(0, 100 * LIFE)], leaf: leaf(0, 0, true, 50 * LIFE) },
      LIFE,
      { step: 'leaf', by: 0, keepFrom: 0, because: 'due' },
    ],
  ])('%s', (_, standing, nowMs, step) => {
    expect(certificatePlan(standing, nowMs, LIFE)).toEqual(step);
  });
});

/** The certificates by number, and what was served and trusted since when. */
class Secret {
  readonly #lifeMs: number;
  #standing: Standing;
  #ids: readonly number[] = [0];
  #made = 1;
  /** Newest last: the leaf's authority, the authorities that are trusted. */
  readonly past: { atMs: number; by: number; bundle: readonly number[]; notAfterMs: number }[] = [];
  startedMs = 0;

  constructor(lifeMs: number) {
    this.#lifeMs = lifeMs;
    this.#standing = this.#fresh(0);
    this.#note(0);
  }

  look(nowMs: number): number {
    for (;;) {
      const plan = certificatePlan(this.#standing, nowMs, this.#lifeMs);
      if (plan.step === 'wait') return plan.untilMs;
      this.#apply(plan, nowMs);
      this.#note(nowMs);
    }
  }

  #apply(plan: CertificateStep, nowMs: number): void {
    const { authorities, leaf: old } = this.#standing;
    if (plan.step === 'authority') {
      this.#standing = { authorities: [...authorities, authority(nowMs, AUTHORITY_LIVES * this.#lifeMs)], leaf: old };
      this.#ids = [...this.#ids, this.#made++];
    } else if (plan.step === 'leaf') {
      const { by, keepFrom } = plan;
      const end = Math.min(nowMs + this.#lifeMs, authorities[by]?.notAfterMs ?? 0);
      const made = { madeMs: nowMs, notAfterMs: end, by: by - keepFrom, fits: true };
      this.#standing = { authorities: authorities.slice(keepFrom), leaf: made };
      this.#ids = this.#ids.slice(keepFrom);
    } else {
      this.#standing = this.#fresh(nowMs);
      this.#ids = [this.#made++];
      this.startedMs = nowMs;
    }
  }

  #fresh(nowMs: number): Standing {
    return {
      authorities: [authority(nowMs, AUTHORITY_LIVES * this.#lifeMs)],
      leaf: leaf(nowMs, 0, true, this.#lifeMs),
    };
  }

  #note(atMs: number): void {
    const { by, notAfterMs } = this.#standing.leaf;
    this.past.push({ atMs, by: this.#ids[by] ?? -1, bundle: this.#ids, notAfterMs });
  }

  /** As it was at a time. */
  at(ms: number) {
    return this.past.findLast(({ atMs }) => atMs <= ms) ?? this.past[0];
  }
}

const SERVED_LATE = 12_000;

describe('at any moment', () => {
  it('what any replica serves is trusted by every server, however late either is, and nobody has to begin anew', () => {
    const lives = fc.integer({ min: 60_000, max: 600_000 });
    const looks = fc.array(fc.integer({ min: 1, max: 10_000 }), { minLength: 200, maxLength: 400 });
    fc.assert(
      fc.property(lives, looks, (lifeMs, gaps) => {
        const secret = new Secret(lifeMs);
        let now = 0;
        let dueMs = 0;
        for (const gap of gaps) {
          now = Math.min(now + gap, Math.max(now + 1, dueMs));
          dueMs = secret.look(now);
          for (const servedMs of [now, Math.max(0, now - SERVED_LATE)]) {
            const served = secret.at(servedMs);
            expect(served?.notAfterMs).toBeGreaterThan(now);
            for (const trustedMs of [now, Math.max(0, now - SPREAD_MS)]) {
              expect(secret.at(trustedMs)?.bundle).toContain(served?.by);
            }
          }
        }
        expect(secret.startedMs).toBe(0);
      }),
      { numRuns: 60 },
    );
  });

  it('also after any absence, a leaf comes from an authority that has been trusted for a while, if one is left', () => {
    const gaps = fc.array(fc.oneof(fc.integer({ min: 1, max: 10_000 }), fc.integer({ min: 1, max: 1_000_000 })), {
      minLength: 20,
      maxLength: 100,
    });
    fc.assert(
      fc.property(fc.integer({ min: 60_000, max: 300_000 }), gaps, (lifeMs, all) => {
        const secret = new Secret(lifeMs);
        let now = 0;
        for (const gap of all) {
          now += gap;
          const before = secret.past.length;
          secret.look(now);
          if (secret.startedMs === now) continue;
          for (const { by } of secret.past.slice(before)) {
            const isKnown = secret.at(now - SPREAD_MS)?.bundle.includes(by);
            const hadToBe = secret.at(now - 1)?.bundle.every((each) => each >= by);
            expect(isKnown || hadToBe).toBe(true);
          }
        }
      }),
      { numRuns: 200 },
    );
  });
});
