import type { KeyStatus } from '../../../../domain/redis/cluster-view.ts';
import { amountOf, cureFor } from '../../../../domain/redis/config/amount.ts';
import { reasonOf, shortened, startReasonOf } from '../../../../domain/redis/config/refusal.ts';
import { isLineDirective, parseStartLine } from '../../../../domain/redis/config/start-line.ts';
import type { Wanted } from '../../../../domain/redis/config/wanted.ts';
import type { Directive } from '../step.ts';
import type { StartEntry } from './accepted-config.ts';
import type { Pass } from './pass.ts';
import { hasLine } from './running-server.ts';
import { askTrial } from './trial-questions.ts';

/** Set while Redis runs it would cut off whoever is connected. */
export const isLeftToStart = ({ name, line }: Wanted): boolean => line !== undefined || name === 'bind';

/** As a directive of a start file. */
export const directiveOf = (name: string, text: string): Directive => {
  const [first = ''] = name.split(' ', 1);
  return [isLineDirective(first) ? first : name, text];
};

/** What the next start has of lines and start-only parameters beside one of them. */
const startDirectives = ({ accepted, config }: Pass, except: string): readonly Directive[] =>
  [...accepted.start]
    .filter(
      ([name]) => name !== except && (config.isKept(name) || config.wanted.some((wanted) => wanted.name === name)),
    )
    .map(([name, { text }]) => directiveOf(name, text));

/** Finds out about whatever counts from a start on: bad, in effect, or waiting for a start. Sets nothing. */
export async function applyStartOnly(pass: Pass, wanted: readonly Wanted[]): Promise<void> {
  // Modules bring parameters with them.
  const rank = ({ line }: Wanted): number => (line?.directive === 'loadmodule' ? 0 : 1);
  for (const each of wanted.toSorted((a, b) => rank(a) - rank(b))) pass.findings.add(each, await statusOf(pass, each));
  for (const [name, entry] of pass.accepted.start) await findRemoved(pass, name, entry);
}

async function statusOf(pass: Pass, wanted: Wanted): Promise<KeyStatus> {
  const { running, context, judge } = pass;
  const read = running.get(wanted.name);
  const value = read === undefined ? undefined : shortened(read);
  const objection = read === wanted.text ? undefined : await judge.objection(wanted);
  if (objection !== undefined) return { state: 'Refused', value, message: objection };
  if (context.settings.mode === 'sidecar') return statusInSidecar(pass, wanted, value);
  const proven = await prove(pass, wanted);
  if (typeof proven === 'string') return { state: 'Refused', value, message: proven };
  if (wanted.line) {
    if (await hasLine(context.redis, wanted.line)) return { state: 'Applied' };
    return { state: 'RestartNeeded', message: 'It counts from the next start on' };
  }
  if (proven.canonical !== undefined && proven.canonical === read) return { state: 'Applied', value };
  const instead = read === undefined ? '' : ` instead of ${read}`;
  const message = shortened(`It counts from the next start on: ${proven.canonical ?? wanted.text}${instead}`);
  return { state: 'RestartNeeded', value, message };
}

/** Whoever starts Redis decides: it can only be said whether it fits. */
async function statusInSidecar(
  { running, context, known }: Pass,
  wanted: Wanted,
  value: string | undefined,
): Promise<KeyStatus> {
  const { name, text, line } = wanted;
  const read = running.get(name);
  const isThere = line ? await hasLine(context.redis, line) : read !== undefined && isSame(read, text);
  if (isThere) return { state: 'Applied', value };
  if (!line && read === undefined) return { state: 'Refused', message: reasonOf(known.forStart.get(name) ?? '') };
  return {
    state: 'RestartNeeded',
    value,
    message: 'It counts from a start on: set it in the configuration of the Redis container, and restart that',
  };
}

const isSame = (read: string, text: string): boolean =>
  read.toLowerCase() === text.toLowerCase() || (amountOf(read) !== undefined && amountOf(read) === amountOf(text));

/** Starts a throw-away server with it, unless that was done; a text says why it is bad. */
async function prove(pass: Pass, { name, text, label }: Wanted): Promise<StartEntry | string> {
  const { accepted, known, context, server, running } = pass;
  const change = { name, text };
  const entry = accepted.start.get(name);
  if (entry?.text === text && entry.version === server.version) return entry;
  const refusal = known.ofStart(change);
  if (refusal !== undefined) return refusal;
  const directives = [...startDirectives(pass, name), directiveOf(name, text)];
  const answer = await context.tryServer({ directives }, (redis) => askTrial(redis, directives, [name]));
  if (!answer.ok || answer.value.problem !== undefined) {
    const reason = answer.ok ? (answer.value.problem ?? '') : startReasonOf(answer.words, directiveOf(name, text)[0]);
    const cure = cureFor(text, reason);
    const words = cure === undefined ? reason : `${reason} (${cure})`;
    known.addStart(change, words);
    return words;
  }
  const proven: StartEntry = {
    label,
    text,
    canonical: answer.value.parameters.get(name),
    before: entry ? entry.before : (accepted.live.get(name)?.before ?? running.get(name)),
    version: server.version,
  };
  accepted.live.delete(name);
  accepted.start.set(name, proven);
  await accepted.save();
  return proven;
}

/** What nobody wants any more is left out of the next start; the running server may still have it. */
async function findRemoved(pass: Pass, name: string, entry: StartEntry): Promise<void> {
  const { accepted, config, findings, running, context } = pass;
  if (config.isKept(name) || config.wanted.some((wanted) => wanted.name === name)) return;
  const [directive = ''] = name.split(' ', 1);
  const line = isLineDirective(directive) ? parseStartLine(directive, '', entry.text) : undefined;
  const isThere =
    typeof line === 'object'
      ? await hasLine(context.redis, line)
      : entry.canonical === running.get(name) && entry.canonical !== entry.before;
  if (!isThere) {
    accepted.start.delete(name);
    await accepted.save();
    return;
  }
  const value = running.get(name);
  findings.add(
    { label: entry.label, path: `spec.redis.${entry.label}`, text: '' },
    { state: 'RestartNeeded', value, message: 'It was removed, which counts from the next start on' },
  );
}
