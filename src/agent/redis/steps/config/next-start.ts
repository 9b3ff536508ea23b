import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { dangerAtStart, isAllowed, isJudged } from '../../../../domain/redis/config/danger.ts';
import { type Wanted, type WantedConfig, wantedConfig } from '../../../../domain/redis/config/wanted.ts';
import { baseDirectives } from '../../start.ts';
import type { Directive, PrepareContext } from '../step.ts';
import type { AcceptedConfig } from './accepted-config.ts';
import { type Candidate, proveStart } from './prove-start.ts';
import { directiveOf } from './start-only.ts';

/**
 * The directives for the next start: what Redis has accepted, and of what is new whatever a throw-away server takes.
 * All of it is tried again, since the program itself may be another one than at the last start.
 */
export async function prepareStart(context: PrepareContext, accepted: AcceptedConfig): Promise<readonly Directive[]> {
  const config = wantedConfig(context.cluster);
  const candidates = candidatesOf(config, accepted, await deferredIn(context));
  if (candidates.length === 0) return [];
  // A removed key goes back to what the start file has of its own.
  const base = baseDirectives(context.settings, context.cluster);
  const proof = await proveStart(context.tryServer, candidates, base);
  for (const { wanted, before, learned } of proof.learned) {
    const { name, text, label } = wanted;
    const { canonical, version, isLive } = learned;
    if (isLive) {
      accepted.live.set(name, { before: accepted.live.get(name)?.before ?? before, text, canonical });
      accepted.start.delete(name);
    } else {
      accepted.start.set(name, { label, text, canonical, before: accepted.start.get(name)?.before ?? before, version });
      accepted.live.delete(name);
    }
  }
  try {
    await accepted.save();
  } catch (error) {
    // Redis starts none the less; all of this is found out again another time.
    context.log.error('what Redis has accepted could not be kept', { error: String(error) });
  }
  return proof.directives.toSorted(([a, one], [b, other]) => (a === b ? (one < other ? -1 : 1) : a < b ? -1 : 1));
}

/** Which changes are not for a start to make: they do harm, or only the running server can tell. */
async function deferredIn({ cluster, settings }: PrepareContext): Promise<(wanted: Wanted) => boolean> {
  const hasData = await holdsData(settings.paths.dataDir);
  return (wanted) => {
    if (isAllowed(cluster.allowDangerous, wanted.name)) return false;
    // With data they wait for the pass after the start, which knows how much there is.
    return dangerAtStart(wanted) !== undefined || (hasData && isJudged(wanted.name));
  };
}

function candidatesOf(
  config: WantedConfig,
  accepted: AcceptedConfig,
  isDeferred: (wanted: Wanted) => boolean,
): readonly Candidate[] {
  const asked = new Map(config.wanted.map((wanted) => [wanted.name, wanted]));
  const kept = [...accepted.live.keys(), ...accepted.start.keys()].filter((name) => config.isKept(name));
  return [...new Set([...asked.keys(), ...kept])].flatMap((name): readonly Candidate[] => {
    const wanted = asked.get(name);
    const text = accepted.textOf(name);
    const last = text === undefined ? undefined : directiveOf(name, text);
    if (wanted && wanted.text !== text && !isDeferred(wanted)) return [{ wanted, last }];
    return last ? [{ wanted: undefined, last }] : [];
  });
}

/** Whether Redis would load something. */
async function holdsData(folder: string): Promise<boolean> {
  const found = await Promise.allSettled(['dump.rdb', 'appendonlydir'].map((name) => access(join(folder, name))));
  return found.some(({ status }) => status === 'fulfilled');
}
