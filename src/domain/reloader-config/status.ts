import type {
  ConfigCondition,
  ConfigTargetStatus,
  ReloaderConfigStatus,
} from '../../api/reloader-config/status-fields.ts';
import type { SourceRef } from '../../api/sources.ts';
import { formatTime } from '../text/rfc3339.ts';
import { type ConfigRef, configKey } from './config.ts';
import type { PresentTarget, StatusFacts, TargetFacts } from './status-facts.ts';
import { joined, problemsOf } from './status-problems.ts';

/** More of them would not fit into an object of a thousand targets; the counts are always whole. */
const MOST_LISTED = 100;
const MOST_OF_ERROR = 500;

/** What a ReloaderConfig says about itself. It tells the same as long as the facts are the same, whenever it is asked. */
export function statusOf(facts: StatusFacts): ReloaderConfigStatus {
  const { config, targets, sources, reloads } = facts;
  const listed = firstListed(sources.flatMap(({ ref, hash }) => (hash === undefined ? [] : [{ ref, hash }])));
  const shown = listed.map(({ ref, hash }) => [sourceText(ref), hash()] as const);
  return {
    conditions: [available(facts), progressing(facts), degraded(facts)].map((now) => conditionOf(now, facts)),
    observedGeneration: config.generation,
    reloadCount: reloads.count,
    ...(reloads.lastTime !== undefined && { lastReloadTime: reloads.lastTime }),
    ...(listed.length > 0 && { watchedResourceHashes: Object.fromEntries(shown) }),
    watchedResourceCount: sources.length,
    ...(targets.length > 0 && {
      targetStatus: targets.slice(0, MOST_LISTED).map((each) => targetStatus(each, config.ref)),
    }),
    targetCount: targets.length,
  };
}

/** Of these, the ones that a status lists. */
export function firstListed<S extends { readonly ref: SourceRef }>(sources: readonly S[]): readonly S[] {
  const byText = sources.map((source) => [sourceText(source.ref), source] as const);
  return byText
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .slice(0, MOST_LISTED)
    .map(([, source]) => source);
}

/** What a source is called in a status. */
export const sourceText = ({ namespace, kind, name }: SourceRef): string => `${namespace}/${kind}/${name}`;

interface Finding {
  readonly type: 'Available' | 'Progressing' | 'Degraded';
  readonly holds: boolean;
  readonly reason: string;
  readonly message: string;
}

/** The reason of every condition that is as one wants it. */
const AS_WANTED = 'Reconciled';

/** False where nothing of it can work, whatever comes: there is no target, or no source. */
function available({ config, targets, sources }: StatusFacts): Finding {
  const { names, resourceSelector, autoReloadAll, isIgnored } = config;
  const type = 'Available';
  if (isIgnored) return { type, holds: true, reason: 'Ignored', message: 'it is ignored by its annotation' };
  const asksForAny = autoReloadAll || resourceSelector !== undefined;
  if (targets.length === 0) return { type, holds: false, reason: 'InvalidSpec', message: 'there is no valid target' };
  if (!asksForAny && names.ConfigMap.length + names.Secret.length === 0) {
    return { type, holds: false, reason: 'InvalidSpec', message: 'there is no valid source' };
  }
  const present = targets.filter(({ is }) => is === 'present').length;
  const message = `${counted(sources.length, 'source')} watched for ${counted(present, 'target')}`;
  return { type, holds: true, reason: AS_WANTED, message };
}

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

const STEPS = ['Restarting', 'CoolingDown', 'ReloadPending'] as const;

function progressing({ targets }: StatusFacts): Finding {
  const steps = targets.flatMap((each) => stepOf(each) ?? []);
  const reason = STEPS.find((step) => steps.some(({ is }) => is === step)) ?? AS_WANTED;
  const message = steps.length === 0 ? 'nothing waits' : joined(steps.map(({ text }) => text));
  return { type: 'Progressing', holds: steps.length > 0, reason, message };
}

/** What goes on with a target. */
function stepOf(facts: TargetFacts): { readonly is: (typeof STEPS)[number]; readonly text: string } | undefined {
  if (facts.is !== 'present') return undefined;
  const { restart, cooldownEnd, isWaiting } = facts;
  const { path, ref } = facts.target;
  const name = `${path}: ${ref.kind} "${ref.name}"`;
  if (restart) {
    const more = restart.message === undefined ? '' : `: ${restart.message}`;
    const text = `${name} is restarted, ${restart.left} of ${counted(restart.pods, 'pod')} left${more}`;
    return { is: 'Restarting', text };
  }
  if (cooldownEnd !== undefined) {
    const what = isWaiting ? 'has changes that wait' : 'is not reloaded again';
    return { is: 'CoolingDown', text: `${name} ${what} until ${timeText(cooldownEnd)}` };
  }
  return isWaiting ? { is: 'ReloadPending', text: `${name} has changes that wait` } : undefined;
}

function degraded(facts: StatusFacts): Finding {
  const problems = problemsOf(facts);
  const [worst] = problems;
  const message = worst ? joined(problems.map(({ text }) => text)) : 'no problems';
  return { type: 'Degraded', holds: worst !== undefined, reason: worst?.reason ?? AS_WANTED, message };
}

/** Its time moves only when its status does. */
function conditionOf({ type, holds, reason, message }: Finding, facts: StatusFacts): ConfigCondition {
  const status = holds ? 'True' : 'False';
  const before = facts.conditions.find((each) => each.type === type);
  const lastTransitionTime = before?.status === status ? before.lastTransitionTime : timeText(facts.now);
  return { type, status, observedGeneration: facts.config.generation, lastTransitionTime, reason, message };
}

/** Of what must not be known, its name alone. */
function targetStatus(facts: TargetFacts, config: ConfigRef): ConfigTargetStatus {
  const { kind, namespace, name } = facts.target.ref;
  if (facts.is === 'not-allowed') return { kind, namespace, name };
  const { count, lastTime } = facts.reloads;
  return {
    ...{ kind, namespace, name },
    reloadCount: count,
    ...(lastTime !== undefined && { lastReloadTime: lastTime }),
    ...(facts.is === 'present' && presentStatus(facts, [namespace, config.namespace])),
  };
}

/** `concerned`: namespaces of which this is no secret. */
function presentStatus(facts: PresentTarget, concerned: readonly string[]): Partial<ConfigTargetStatus> {
  const { error, cooldownEnd, restart, reloadStrategy, rolloutStrategy, decidedBy } = facts;
  return {
    ...(cooldownEnd !== undefined && { pausedUntil: timeText(cooldownEnd) }),
    ...(error !== undefined && { lastError: error.slice(0, MOST_OF_ERROR) }),
    reloadStrategy,
    ...(rolloutStrategy && { rolloutStrategy }),
    ...(decidedBy && { decidedBy: deciderText(decidedBy, concerned) }),
    ...(restart && { restart }),
  };
}

const deciderText = (ref: ConfigRef, concerned: readonly string[]): string =>
  concerned.includes(ref.namespace) ? `ReloaderConfig ${configKey(ref)}` : 'a ReloaderConfig of another namespace';

const timeText = (ms: number): string => formatTime(ms / 1000);
