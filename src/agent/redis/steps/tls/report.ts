import { createHash } from 'node:crypto';
import { dirname } from 'node:path';
import type { Problem, TlsStatus } from '../../../../domain/redis/cluster-view.ts';
import type { Wait } from '../../../../domain/redis/trust/rotation.ts';
import { expiryWords } from '../../../../domain/redis/trust/validity.ts';
import { shortFingerprint, waitWords } from '../../../../domain/redis/trust/words.ts';
import { formatTime } from '../../../../domain/text/rfc3339.ts';
import type { Offered } from './offered.ts';
import { type Active, mountedPaths, refusalOf, type TlsWorld } from './tls-state.ts';

/** The step's part of the status. */
export interface TlsReport {
  readonly tls: TlsStatus | undefined;
  /** What Redis serves or trusts was changed in this pass. */
  readonly rotated: boolean;
  readonly problems: readonly Problem[];
  /** When to come again even if nothing happens. */
  readonly wakeAfterMs?: number | undefined;
}

/** What became of a pass. */
export interface Outcome {
  readonly rotated: boolean;
  readonly refused: boolean;
  readonly problems: readonly Problem[];
  readonly wait?: Wait | undefined;
}

export const problemsText = (problems: readonly Problem[]): string =>
  problems.map(({ where, what }) => `${where} ${what}`).join('; ');

/** A Warning for problems of which people have not been told yet, whoever was killed meanwhile. */
export async function warnOnce(world: TlsWorld, content: string, problems: readonly Problem[]): Promise<void> {
  const { context, state, settings } = world;
  // Times of day in the words are no news.
  const which = problems.map(({ where, what }) => `${where} ${what.split(': ', 1)[0]}`).join('; ');
  const warned = createHash('sha256').update(`${content} ${which}`).digest('hex');
  if (state.value.warned === warned) return;
  await state.save({ ...state.value, warned });
  const goesOn = state.value.active ? '; Redis goes on with the certificates it has' : '';
  context.event('Warning', 'CertificatesRefused', `${settings.podName}: ${problemsText(problems)}${goesOn}`);
  context.log.warn('certificates refused', { problems: problemsText(problems) });
}

/** Told only after a handshake has shown it. */
export function tellRotated({ context, settings }: TlsWorld, now: Active, before: Active | undefined): void {
  const leaf = `certificate ${shortFingerprint(now.leaf)}, valid until ${formatTime(now.endsMs / 1000)}`;
  const added = now.trusted.filter((each) => before && !before.trusted.includes(each)).map(shortFingerprint);
  const dropped = before?.trusted.filter((each) => !now.trusted.includes(each)).map(shortFingerprint) ?? [];
  const parts = [
    before?.chain === now.chain ? `${settings.podName} goes on serving ${leaf}` : `${settings.podName} serves ${leaf}`,
    ...(added.length > 0 ? [`trusts authority ${added.join(', ')} too`] : []),
    ...(dropped.length > 0 ? [`no longer trusts authority ${dropped.join(', ')}`] : []),
  ];
  context.event('Normal', 'CertificatesRotated', parts.join('; '));
  context.log.info('certificates rotated', { leaf: now.leaf, phase: now.phase, trusted: now.trusted.join(' ') });
}

/** Timers are short: nobody has to hear of what is far ahead. */
const LONGEST_WAKE_MS = 86_400_000;

export function reportOf(world: TlsWorld, offered: Offered, outcome: Outcome): TlsReport {
  const nowMs = world.context.clock.wall();
  const { wait } = outcome;
  const { forMs = Number.POSITIVE_INFINITY } = refusalOf(world.state.value, offered.content, nowMs) ?? {};
  const untilMs = wait && 'untilMs' in wait ? wait.untilMs : undefined;
  const due = [offered.validFromMs, nowMs + forMs, untilMs].filter((ms) => ms !== undefined).filter(Number.isFinite);
  const wakeAfterMs = Math.min(LONGEST_WAKE_MS, Math.max(0, Math.min(...due) - nowMs));
  return {
    tls: { state: stateOf(outcome), ...served(world), message: messageOf(world, outcome, nowMs) },
    rotated: outcome.rotated,
    problems: outcome.problems,
    ...(due.length > 0 && { wakeAfterMs }),
  };
}

const stateOf = ({ refused, wait }: Outcome): TlsStatus['state'] => {
  if (refused) return 'Refused';
  return wait ? 'Waiting' : 'Applied';
};

/** What Redis was seen to serve, and all that is known about it. */
function served({ state }: TlsWorld): Omit<TlsStatus, 'state'> {
  const { active, seen } = state.value;
  if (!seen) return {};
  const shown = { leaf: seen.leaf, notAfter: formatTime(seen.endsMs / 1000) };
  if (active?.leaf !== seen.leaf) return shown;
  const { trusted, signedBy, phase, sinceMs } = active;
  return { ...shown, trusted, signedBy, phase, since: formatTime(sinceMs / 1000) };
}

function messageOf(world: TlsWorld, { problems, wait }: Outcome, nowMs: number): string | undefined {
  const { seen, direct } = world.state.value;
  const parts = [
    problemsText(problems),
    wait ? waitWords(wait) : '',
    direct ? directWords(world) : '',
    seen ? expiryWords(seen.endsMs, nowMs) : '',
  ];
  return parts.filter(Boolean).join('; ') || undefined;
}

const directWords = (world: TlsWorld): string =>
  `Redis reads ${dirname(mountedPaths(world).cert)} itself, because it cannot read ${world.settings.paths.stateDir}/tls: an earlier authority cannot be trusted beside a new one; share that folder with the container of Redis`;
