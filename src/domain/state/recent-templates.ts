import { type Applied, UNKNOWN } from '../ledger/applied.ts';
import type { KeptTemplate, KeptTemplates } from '../ledger/record.ts';
import type { SourceId } from '../ledger/source-id.ts';
import { nextRevision, tellsRollout } from '../workload/rollout.ts';
import type { Workload } from '../workload/workload.ts';

/** A template that a workload was seen to have, by short digests: with all marks (`full`) and without any (`bare`). */
export interface SeenTemplate {
  readonly full: string;
  readonly bare: string;
  /** Version at which it was first so, at the earliest; 0: it was found so. */
  readonly since: number;
  /** What its pods ran with when another template took its place, as far as was known then. */
  had?: ReadonlyMap<SourceId, Applied> | undefined;
}

const MAX_TEMPLATES = 8;
const KEPT_IN_LEDGER = 4;
const DIGEST_DIGITS = 10;

/** Few letters are enough to tell a workload's templates from one another. */
export const shortDigest = (digest: string): string => digest.slice(0, DIGEST_DIGITS);

export const templateOf = ({ fullTemplateDigest, templateDigest }: Workload, since: number): SeenTemplate => ({
  full: shortDigest(fullTemplateDigest),
  bare: shortDigest(templateDigest),
  since,
});

/** Templates of which pods may be left. Going back to one of them proves nothing about the age of the pods. */
export class RecentTemplates {
  /** Newest last. */
  readonly #seen: SeenTemplate[];
  /** Its kind says when its own pods of earlier templates are gone. */
  readonly #kindTells: boolean;
  /** Another workload has borrowed the template, and no status says when that workload's pods of earlier templates are gone. */
  #isLent = false;
  #unseenAfter: number | undefined;
  /** Pods of templates from before our time may be left: it was found in the middle of a rollout, or nobody tells. */
  #mayHaveEarlier: boolean;
  /** The revision that its controller will count as soon as it has seen the newest template. */
  #revisionDue: string | undefined;

  constructor(workload: Workload, since: number, isBorn: boolean) {
    this.#seen = [templateOf(workload, since)];
    this.#kindTells = tellsRollout(workload.ref.kind);
    this.#mayHaveEarlier = !this.#kindTells || !(isBorn || workload.isRolledOut);
  }

  get newest(): SeenTemplate | undefined {
    return this.#seen.at(-1);
  }

  /**
   * After this version there may have been templates that we did not see, and pods of them may still be there: our next
   * write has to make a template that certainly never was, and what another writer makes may be one of them.
   */
  get unseenAfter(): number | undefined {
    return this.#unseenAfter;
  }

  get mayHaveEarlier(): boolean {
    return this.#mayHaveEarlier;
  }

  lent(isLent: boolean): void {
    this.#isLent = isLent;
  }

  /** Whether there may be pods of a template that an edit would make. */
  mayHaveHad(fullDigest: string): boolean {
    return this.#unseenAfter !== undefined || this.#seen.some(({ full }) => full === shortDigest(fullDigest));
  }

  /**
   * The workload has this template from now on, and left one whose pods ran with `applied`. Gives back those that it was
   * before: the same with the same marks or, where somebody else edited it, the same with whatever marks.
   */
  replace(workload: Workload, since: number, applied: ReadonlyMap<SourceId, Applied>): readonly SeenTemplate[] {
    const next = templateOf(workload, since);
    const last = this.newest;
    if (last) last.had ??= new Map(applied);
    const known = this.#seen.filter(
      ({ full, bare }) => full === next.full || (bare === next.bare && last?.bare !== bare),
    );
    const at = this.#seen.findIndex(({ full }) => full === next.full);
    const [former] = at < 0 ? [] : this.#seen.splice(at, 1);
    this.#seen.push({ ...next, since: former?.since ?? since });
    this.#unseenAfter = this.#unseenBeside(MAX_TEMPLATES, this.#seen);
    this.#seen.splice(0, this.#seen.length - MAX_TEMPLATES);
    return known;
  }

  expectRevision(before: string, now: string): void {
    this.#revisionDue = now === before ? nextRevision(now, true) : undefined;
  }

  /** Whether a revision says that there was no other template in between. */
  isExpected(before: string, now: string): boolean {
    return now === before || now === this.#revisionDue;
  }

  /**
   * Templates from before our time, unless every pod is known to be of the present one; what pods of the last one ran with is
   * what was written down.
   */
  recall(kept: readonly KeptTemplate[], applied: ReadonlyMap<SourceId, Applied>, workload: Workload): void {
    if (this.#hasOnlyNewest(workload)) return;
    const now = this.newest?.full;
    const last = kept.at(-1);
    const former = kept.filter(([full]) => full !== now);
    this.#seen.unshift(
      ...former.map((each) => ({ full: each[0], bare: '', since: each[1], had: each === last ? applied : undefined })),
    );
  }

  /** Every pod is of the present template: of those before there is none left. */
  onlyNewestLeft(): void {
    this.#seen.splice(0, this.#seen.length - 1);
    this.#unseenAfter = undefined;
    this.#mayHaveEarlier = false;
  }

  /** Others may have come and gone after a version, unless every pod is known to be of the present one. */
  missedAfter(version: number, workload: Workload): void {
    if (this.#hasOnlyNewest(workload)) return;
    this.#unseenAfter = Math.min(this.#unseenAfter ?? version, version);
  }

  #hasOnlyNewest({ isRolledOut }: Workload): boolean {
    return isRolledOut && this.#tellsRollout;
  }

  get #tellsRollout(): boolean {
    return this.#kindTells && !this.#isLent;
  }

  /** What we wrote certainly never was before: where nobody tells when a rollout is complete, that has to do. */
  wroteNew(): void {
    if (!this.#tellsRollout) this.#unseenAfter = undefined;
  }

  /** What the ledger remembers, with the template that a write is about to make. */
  kept(next?: SeenTemplate): KeptTemplates {
    const all = next ? [...this.#seen, next] : this.#seen;
    const unseen = this.#unseenBeside(KEPT_IN_LEDGER, all);
    const looks = all.slice(-KEPT_IN_LEDGER).map(({ full, since }): KeptTemplate => [full, since]);
    return { looks, ...(unseen !== undefined && { unseen }) };
  }

  /**
   * As `unseenAfter`, for who remembers so many of these: to go back to one that was forgotten would seem to be new, though
   * its pods were there all the time. Where nobody says when they are gone, being old has to do.
   */
  #unseenBeside(remembered: number, all: readonly SeenTemplate[]): number | undefined {
    const forgotten = this.#tellsRollout ? all.slice(0, Math.max(0, all.length - remembered)) : [];
    const from = Math.min(...forgotten.map(({ since }) => since - 1), this.#unseenAfter ?? Number.POSITIVE_INFINITY);
    return from === Number.POSITIVE_INFINITY ? undefined : from;
  }
}

/** What pods of a template ran with, as it was known when another took its place. */
export const hadOf = ({ had }: SeenTemplate, id: SourceId): Applied => had?.get(id) ?? UNKNOWN;
