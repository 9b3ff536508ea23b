import { cureFor, cutBy } from '../../../../domain/redis/config/amount.ts';
import type { Change } from '../../../../domain/redis/config/danger.ts';
import { isForStart, reasonOf, shortened } from '../../../../domain/redis/config/refusal.ts';
import type { Wanted } from '../../../../domain/redis/config/wanted.ts';
import type { Pass } from './pass.ts';
import { readParameters } from './running-server.ts';
import { setLive } from './set-live.ts';

/** What is to become of a parameter in this pass. */
interface Plan {
  readonly name: string;
  /** Undefined: nobody asks for it (any more), or what is asked for is bad. */
  readonly wanted: Wanted | undefined;
  /** Nobody asks for it: it goes back to what it was. */
  readonly isRemoval: boolean;
  /** The text to have. Undefined: it stays as it is. */
  readonly text: string | undefined;
  /** Why the wanted text is not the one to have. */
  readonly why: string | undefined;
}

/** Brings all parameters that can be set live to what is wanted. Gives the names of those whose value has changed. */
export async function applyLive(pass: Pass, wanted: readonly Wanted[]): Promise<readonly string[]> {
  const plans = await plan(pass, wanted);
  const { accepted, running, context } = pass;
  const open = plans.flatMap(({ name, text }) =>
    text === undefined || isInPlace(pass, name, text) ? [] : [{ name, text }],
  );
  // What Redis shows it takes: there is nothing to send.
  const changes = open.filter(({ name, text }) => running.get(name) !== text);
  const first = changes.filter(({ name }) => accepted.live.get(name)?.text === undefined);
  for (const { name } of first) if (!accepted.live.has(name)) accepted.live.set(name, { before: running.get(name) });
  // Kept before anything is set: later nobody could tell what it was.
  if (first.length > 0) await accepted.save();

  const refused = await setLive(context.redis, changes);
  const set = open.map(({ name }) => name).filter((name) => !refused.has(name));
  const now = new Map([...running, ...(await readParameters(context.redis, set))]);
  for (const each of plans)
    settle(pass, each, { refused: refused.get(each.name), isOpen: open.some(({ name }) => name === each.name), now });
  if (open.length > 0 || plans.some(({ isRemoval }) => isRemoval)) await accepted.save();
  for (const each of plans) find(pass, each, now);
  return set.filter((name) => now.get(name) !== running.get(name));
}

function isInPlace({ accepted, running }: Pass, name: string, text: string): boolean {
  const entry = accepted.live.get(name);
  return entry?.text === text && entry.canonical === running.get(name);
}

async function plan(pass: Pass, wanted: readonly Wanted[]): Promise<readonly Plan[]> {
  const { accepted, config, running } = pass;
  const asked = new Map(wanted.map((each) => [each.name, each]));
  const names = [...new Set([...asked.keys(), ...accepted.live.keys()])].toSorted();
  const plans: Plan[] = [];
  for (const name of names) {
    const entry = accepted.live.get(name);
    const own = asked.get(name);
    const isRemoval = !own && !config.isKept(name) && !config.wanted.some((other) => other.name === name);
    if (isRemoval) {
      const isBack = entry?.before === undefined || entry.before === running.get(name);
      plans.push({ name, wanted: own, isRemoval, ...(await choose(pass, name, isBack ? [] : [entry.before])) });
    } else {
      // If what is wanted is bad, the last accepted one stays, also over a restart of Redis.
      const texts = [own?.text, entry?.text].filter((text) => text !== undefined);
      plans.push({ name, wanted: own, isRemoval, ...(await choose(pass, name, texts)) });
    }
  }
  return plans;
}

/** The first of the texts that is neither known to be refused nor does harm. */
async function choose(pass: Pass, name: string, texts: readonly string[]): Promise<Pick<Plan, 'text' | 'why'>> {
  let why: string | undefined;
  for (const text of texts) {
    const change = { name, text };
    if (isInPlace(pass, name, text)) return { text, why };
    const objection = await objectionTo(pass, change);
    if (objection === undefined) {
      pass.judge.assume(change);
      return { text, why };
    }
    why ??= objection;
  }
  return { text: undefined, why };
}

/** These only shut somebody out for a while, and were accepted: after a restart of Redis they are simply set again. */
const HEALED_UNASKED = new Set(['maxclients', 'min-replicas-to-write']);

async function objectionTo(
  { known, judge, accepted, context, running }: Pass,
  change: Change,
): Promise<string | undefined> {
  const words = known.ofValue(change, context.clock.now());
  if (words !== undefined) return refusalMessage(change, words);
  if (running.get(change.name) === change.text) return undefined;
  const isHealed = HEALED_UNASKED.has(change.name) && accepted.live.get(change.name)?.text === change.text;
  return isHealed ? undefined : judge.objection(change);
}

const refusalMessage = ({ text }: Change, words: string): string => {
  const cure = cureFor(text, words);
  return cure === undefined ? reasonOf(words) : `${reasonOf(words)} (${cure})`;
};

interface Outcome {
  readonly refused: string | undefined;
  readonly isOpen: boolean;
  readonly now: ReadonlyMap<string, string>;
}

/** Notes what Redis has accepted or refused. */
function settle(
  { accepted, known, context }: Pass,
  { name, text, isRemoval, why }: Plan,
  { refused, isOpen, now }: Outcome,
): void {
  const entry = accepted.live.get(name);
  if (refused !== undefined && text !== undefined) {
    if (!isRemoval && isForStart(refused)) known.forStart.set(name, refused);
    else known.addValue({ name, text }, refused, context.clock.now());
    if (entry?.text === undefined) accepted.live.delete(name);
  } else if (isRemoval) {
    if (why === undefined) accepted.live.delete(name);
  } else if (isOpen) {
    accepted.live.set(name, { before: entry ? entry.before : now.get(name), text, canonical: now.get(name) });
  }
}

/** Tells what has become of what was asked for. */
function find(
  { accepted, known, findings, context }: Pass,
  { name, wanted, isRemoval, text, why }: Plan,
  now: ReadonlyMap<string, string>,
): void {
  const read = now.get(name);
  const value = read === undefined ? undefined : shortened(read);
  if (isRemoval && accepted.live.has(name)) {
    const change = { name, text: text ?? '' };
    const reason = why ?? refusalMessage(change, known.ofValue(change, context.clock.now()) ?? '');
    findings.add(
      { label: name, path: `spec.redis.${name}`, text: '' },
      { state: 'Refused', value, message: `It was removed, but does not go back: ${reason}` },
    );
  }
  if (!wanted || known.forStart.has(name)) return;
  const change = { name, text: wanted.text };
  const words = known.ofValue(change, context.clock.now());
  const refusal = why ?? (words === undefined ? undefined : refusalMessage(change, words));
  if (refusal !== undefined) findings.add(wanted, { state: 'Refused', value, message: refusal });
  else findings.add(wanted, { state: 'Applied', value, message: cutBy(wanted.text, read ?? '') });
}
