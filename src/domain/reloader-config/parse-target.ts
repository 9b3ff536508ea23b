import { objectIn } from '../../api/json.ts';
import { type KindName, kindNamed, WORKLOAD_KINDS } from '../../api/kinds.ts';
import type { RolloutStrategy, StakaterStrategy } from '../asks/ask.ts';
import { parseDuration } from '../text/duration.ts';
import { isSubdomain } from '../text/subdomain.ts';
import type { WorkloadRef } from '../workload/workload.ts';
import type { ConfigTarget } from './config.ts';
import { type Problems, shown, switchAt } from './fields.ts';

/** A word that cannot be understood: what depends on it is not reloaded, because a guess could do harm. */
export const UNCLEAR = 'unclear';
type Unclear = typeof UNCLEAR;

export interface Strategies {
  readonly reloadStrategy: StakaterStrategy | undefined | Unclear;
  readonly rolloutStrategy: RolloutStrategy | undefined | Unclear;
}

export const RELOAD_STRATEGIES = ['env-vars', 'annotations'] as const;
export const ROLLOUT_STRATEGIES = ['rollout', 'restart'] as const;

const KINDS = WORKLOAD_KINDS.map(({ kind }) => kind).join(', ');

/** The strategies that a target or the spec itself names; `consequence`: of a word that is none. */
export function strategiesAt(value: unknown, path: string, consequence: string, problems: Problems): Strategies {
  const { reloadStrategy, rolloutStrategy } = objectIn(value) as Record<string, unknown>;
  const read = <Word extends string>(given: unknown, field: string, words: readonly Word[]) => {
    if (isEmpty(given)) return undefined;
    const word = words.find((each) => each === given);
    if (word !== undefined) return word;
    const expected = words.map((each) => `"${each}"`).join(' or ');
    problems.push({ path: `${path}.${field}`, message: `must be ${expected}, not ${shown(given)}: ${consequence}` });
    return UNCLEAR;
  };
  return {
    reloadStrategy: read(reloadStrategy, 'reloadStrategy', RELOAD_STRATEGIES),
    rolloutStrategy: read(rolloutStrategy, 'rolloutStrategy', ROLLOUT_STRATEGIES),
  };
}

/** As clients in Go leave a text out. */
const isEmpty = (value: unknown): boolean => value === undefined || value === null || value === '';

/** Which workload a target means. */
export function targetRef(value: unknown, path: string, own: string, problems: Problems): WorkloadRef | undefined {
  const { kind, name, namespace } = objectIn(value) as Record<string, unknown>;
  const row = typeof kind === 'string' ? kindNamed(kind) : undefined;
  if (!row) problems.push({ path: `${path}.kind`, message: `must be one of ${KINDS}, not ${shown(kind ?? '')}` });
  const isName = typeof name === 'string' && isSubdomain(name);
  if (!isName) {
    problems.push({ path: `${path}.name`, message: `must be the name of a workload, not ${shown(name ?? '')}` });
  }
  const where = isEmpty(namespace) ? own : namespaceNamed(namespace, `${path}.namespace`, problems);
  return row && isName && where !== undefined ? { kind: row.kind, namespace: where, name } : undefined;
}

/** Undefined if it is none. */
export function namespaceNamed(value: unknown, path: string, problems: Problems): string | undefined {
  if (typeof value === 'string' && isSubdomain(value) && !value.includes('.')) return value;
  problems.push({ path, message: `must be the name of a namespace, not ${shown(value)}` });
  return undefined;
}

const STAYS = 'this target is not reloaded';

/** Undefined: it asks for nothing until it is mended. */
export function parseTarget(
  value: unknown,
  { path, ref }: Pick<ConfigTarget, 'path' | 'ref'>,
  spec: Strategies & { readonly enableTargetedReload: boolean },
  problems: Problems,
): ConfigTarget | undefined {
  const { pausePeriod, requireReference } = objectIn(value) as Record<string, unknown>;
  const own = strategiesAt(value, path, STAYS, problems);
  const reloadStrategy = own.reloadStrategy ?? spec.reloadStrategy;
  const rolloutStrategy = own.rolloutStrategy ?? spec.rolloutStrategy;
  const pausePeriodMs = isEmpty(pausePeriod) ? undefined : period(pausePeriod, `${path}.pausePeriod`, problems);
  const mustReference = switchAt(requireReference, `${path}.requireReference`, problems, true) === true;
  if (reloadStrategy === UNCLEAR || rolloutStrategy === UNCLEAR || pausePeriodMs === UNCLEAR) return undefined;
  if (rolloutStrategy === 'restart' && !canRestart(ref.kind)) {
    const message = `a ${ref.kind} has no pods that could be replaced one by one: write "rollout"; ${STAYS}`;
    problems.push({ path: `${path}.rolloutStrategy`, message });
    return undefined;
  }
  return {
    path,
    ref,
    mustReference: mustReference && spec.enableTargetedReload,
    reloadStrategy,
    rolloutStrategy,
    pausePeriodMs,
  };
}

/** A Rollout has its own way to do it. */
const canRestart = (kind: KindName): boolean => kindNamed(kind)?.effect === 'patch';

function period(value: unknown, path: string, problems: Problems): number | Unclear {
  const ms = typeof value === 'string' ? parseDuration(value) : undefined;
  if (ms !== undefined && ms >= 0) return ms;
  problems.push({ path, message: `must be a duration like 90s or 1h30m, not ${shown(value)}: ${STAYS}` });
  return UNCLEAR;
}
