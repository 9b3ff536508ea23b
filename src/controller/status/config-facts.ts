import { kindNamed } from '../../api/kinds.ts';
import type { SourceRef } from '../../api/sources.ts';
import type { Ask } from '../../domain/asks/ask.ts';
import { UNKNOWN } from '../../domain/ledger/applied.ts';
import { refOf, type SourceId, sourceId } from '../../domain/ledger/source-id.ts';
import { cooldownEnd } from '../../domain/plan/cooldown.ts';
import type { ConfigRef, ConfigTarget, ReloaderConfig } from '../../domain/reloader-config/config.ts';
import { conditionsIn } from '../../domain/reloader-config/said-status.ts';
import { firstListed, sourceText } from '../../domain/reloader-config/status.ts';
import type {
  PresentTarget,
  RestartProgress,
  StatusFacts,
  TargetFacts,
  Unseen,
} from '../../domain/reloader-config/status-facts.ts';
import type { WorkloadState } from '../../domain/state/workload-state.ts';
import { kindNotWatchedBecause } from '../../domain/watch-scope.ts';
import { type WorkloadKey, workloadKey } from '../../domain/workload/workload.ts';
import type { Listed } from '../../model/listed.ts';
import { withTemplateOf } from '../../model/verdicts.ts';
import type { Digest } from '../../runtime/digest.ts';
import type { Engine } from '../engine/engine.ts';
import { missingSources, namespaceUnwatched, type SeenScope, wordsOf } from './missing-sources.ts';
import type { ReloadTally } from './reload-tally.ts';
import { isAskOf, type WantedDeps, type Wanting, wantedBy, wantedSources } from './wanted-sources.ts';

export interface ConfigFactsDeps extends Omit<WantedDeps, 'policy'>, SeenScope {
  readonly engine: Pick<Engine, 'states' | 'verdicts'>;
  readonly listed: Pick<Listed, 'has'>;
  /** Whether this source's fingerprint may be stored at all. */
  readonly mayStore: (id: SourceId) => boolean;
  readonly digest: Pick<Digest, 'text'>;
  /** Milliseconds since the epoch. */
  readonly serverNow: () => number;
  /** How far a restart of a workload is, if one is under way. */
  readonly restart: (key: WorkloadKey) => RestartProgress | undefined;
}

/** What is known of a config now; `said`: its status as the object has it. */
export function factsOf(deps: ConfigFactsDeps, config: ReloaderConfig, tally: ReloadTally, said: unknown): StatusFacts {
  const found = config.targets.map((target) => find(deps, config, target));
  const sources = wantedSources(
    { ...deps, policy: deps.options },
    config,
    found.filter((each) => each.is === 'present'),
  );
  return {
    config,
    targets: found.map((each) => targetFacts(deps, each, sources, tally)),
    missing: missingSources(deps, config),
    sources: sources.map((ref) => ({ ref, hash: hashOf(deps, ref) })),
    reloads: tally.all,
    readsNamespaces: deps.options.scope.mode === 'global',
    conditions: conditionsIn(said),
    now: deps.serverNow(),
  };
}

/** Sources that the status lists once their data is read. The engine reads what workloads want, and not this. */
export function toRead({ sources, mayStore }: ConfigFactsDeps, facts: StatusFacts): readonly SourceRef[] {
  const isUnread = ({ ref }: { readonly ref: SourceRef }): boolean => sources.current(ref) === UNKNOWN;
  if (!facts.sources.some(isUnread)) return [];
  const storable = facts.sources.filter(({ ref }) => mayStore(sourceId(ref)));
  return firstListed(storable)
    .filter(isUnread)
    .map(({ ref }) => ref);
}

interface Present extends Wanting {
  readonly is: 'present';
  readonly config: ConfigRef;
  /** Of whoever has the template: there changes wait, and are written. */
  readonly state: WorkloadState;
}

type Found = (Unseen & { readonly target: ConfigTarget }) | Present;

/** Where it may not be looked at, it is not. */
function find(deps: ConfigFactsDeps, { ref: config }: ReloaderConfig, target: ConfigTarget): Found {
  if (!deps.configs.consents.allows(target.ref.namespace, config.namespace)) return { is: 'not-allowed', target };
  const why = unwatched(deps, target);
  if (why !== undefined) return { is: 'unwatched', target, why };
  const { states, verdicts } = deps.engine;
  const own = states.get(workloadKey(target.ref));
  if (!own) return { is: 'absent', target };
  const owner = verdicts.ownerOf(own.workload);
  const state = (owner && states.get(owner)) ?? own;
  const workload = withTemplateOf(own.workload, state.workload);
  return {
    is: 'present',
    target,
    config,
    state,
    workload,
    wants: wantedBy({ ...deps, policy: deps.options }, config, workload),
  };
}

function unwatched({ options, inScope }: SeenScope, { ref }: ConfigTarget): string | undefined {
  if (options.ignoredKinds.has(ref.kind)) return `--ignored-workload-types leaves out every ${ref.kind}`;
  const byKind = kindNotWatchedBecause(ref.kind, options);
  return wordsOf([...byKind, ...namespaceUnwatched({ options, inScope }, ref.namespace)]);
}

function targetFacts(
  deps: ConfigFactsDeps,
  found: Found,
  sources: readonly SourceRef[],
  tally: ReloadTally,
): TargetFacts {
  const key = workloadKey(found.target.ref);
  const reloads = tally.of(key);
  if (found.is !== 'present') return { ...found, reloads };
  const { target, state } = found;
  const error = errorOf(found, tally.errorOf(key, state.waiting));
  return { is: 'present', target, reloads, error, ...progressOf(deps, found, sources) };
}

function progressOf(
  deps: ConfigFactsDeps,
  found: Present,
  sources: readonly SourceRef[],
): Omit<PresentTarget, 'error'> {
  const { target, state, wants } = found;
  const { ref } = target;
  const { options } = deps;
  const other = decidingAsk(deps, found, sources);
  const { strategy, rolloutStrategy, cooldownMs } = other?.overrides ?? {
    ...{ strategy: target.reloadStrategy, rolloutStrategy: target.rolloutStrategy, cooldownMs: target.pausePeriodMs },
  };
  // Who borrows a template gets a new one.
  const isBorrowed = workloadKey(state.workload.ref) !== workloadKey(ref);
  const now = deps.serverNow();
  const end = cooldownEnd(state.reloads, cooldownMs, now);
  return {
    isWaiting: [...state.waiting.keys()].some((id) => wants(refOf(id, ref.namespace))),
    cooldownEnd: end !== undefined && end > now ? end : undefined,
    restart: deps.restart(workloadKey(state.workload.ref)),
    reloadStrategy: strategy ?? options.reloadStrategy,
    rolloutStrategy:
      kindNamed(ref.kind)?.effect === 'patch'
        ? isBorrowed
          ? 'rollout'
          : (rolloutStrategy ?? options.rolloutStrategy)
        : undefined,
    decidedBy: other && refIn(other),
  };
}

/** That of an older config, if there is one that wants the same sources for the workload. */
function decidingAsk(
  { configs, engine }: ConfigFactsDeps,
  { config, state: { workload }, wants }: Present,
  sources: readonly SourceRef[],
): Ask | undefined {
  const key = workloadKey(workload.ref);
  const naming = [key, ...engine.verdicts.borrowersOf(key)].flatMap((each) => configs.namingOf(each));
  if (naming.length < 2) return undefined;
  for (const ref of sources) {
    if (!wants(ref)) continue;
    const verdict = engine.verdicts.of(workload, ref);
    if (verdict.reload && refIn(verdict.ask) && !isAskOf(verdict.ask.origin, config)) return verdict.ask;
  }
  return undefined;
}

const refIn = ({ origin }: Ask): ConfigRef | undefined =>
  origin.by === 'config' ? { namespace: origin.namespace, name: origin.name } : undefined;

const UNDONE = 'another writer keeps undoing the reload; it is done again when the template or the data changes';

function errorOf({ workload, state }: Present, failure: string | undefined): string | undefined {
  const problems = [...workload.intent.problems, ...state.workload.intent.problems];
  const unreadable = problems.find(({ blocks }) => blocks);
  if (unreadable) return `its annotation ${unreadable.path} cannot be read: ${unreadable.message}`;
  if (state.undelivered > 0) return UNDONE;
  return failure;
}

/** With its name: else whoever has Secrets of his own could compare, and learn what is in those of others. */
function hashOf({ sources, mayStore, digest }: ConfigFactsDeps, ref: SourceRef): (() => string) | undefined {
  const exact = mayStore(sourceId(ref)) ? sources.get(ref)?.fingerprint?.exact : undefined;
  return exact === undefined ? undefined : () => digest.text(`${sourceText(ref)} ${exact}`);
}
