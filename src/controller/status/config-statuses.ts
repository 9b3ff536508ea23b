import type { SourceRef } from '../../api/sources.ts';
import { ABSENT } from '../../domain/ledger/applied.ts';
import type { Outcome } from '../../domain/outcome/outcome.ts';
import { type ConfigKey, type ConfigRef, configKey, type ReloaderConfig } from '../../domain/reloader-config/config.ts';
import { mayName } from '../../domain/reloader-config/config-asks.ts';
import { conditionsIn } from '../../domain/reloader-config/said-status.ts';
import type { StatusFacts } from '../../domain/reloader-config/status-facts.ts';
import { formatTime } from '../../domain/text/rfc3339.ts';
import { type WorkloadKey, workloadKey } from '../../domain/workload/workload.ts';
import type { ReverseIndex } from '../../model/reverse-index.ts';
import type { SourceChange } from '../../model/sources/source-history.ts';
import { withTemplateOf } from '../../model/verdicts.ts';
import { type ConfigFactsDeps, factsOf, toRead } from './config-facts.ts';
import { SeenConfig } from './seen-config.ts';
import { StatusWriter, type StatusWriterDeps } from './status-writer.ts';
import { wantedBy } from './wanted-sources.ts';

export interface ConfigStatusesDeps extends ConfigFactsDeps, StatusWriterDeps {
  readonly index: Pick<ReverseIndex, 'dependents'>;
  /** Reads the data of a source that was listed without it. */
  readonly want: (ref: SourceRef) => void;
}

type OutcomeWithChanges = Extract<Outcome, { readonly changes: unknown }>;

/**
 * Keeps the status of every ReloaderConfig true, and writes seldom: nothing is decided by it. What happens only touches a
 * config; what there is to say is worked out when it is looked at.
 */
export class ConfigStatuses {
  readonly #deps: ConfigStatusesDeps;
  readonly #writer: StatusWriter;
  readonly #configs = new Map<ConfigKey, SeenConfig>();
  /** Who waits for a source of this name, which no workload has to ask for. */
  readonly #byName = new Map<string, Set<ConfigKey>>();
  /** Configs that name sources by expressions or labels: they may wait for a source of any name. */
  readonly #byAnyName = new Set<ConfigKey>();

  constructor(deps: ConfigStatusesDeps) {
    this.#deps = deps;
    this.#writer = new StatusWriter(deps, (key) => this.#factsOf(key));
  }

  /** With every version of a config, also where only its status is another; after the model knows it. */
  configSeen(config: ReloaderConfig, status: unknown): void {
    const key = configKey(config.ref);
    const known = this.#configs.get(key);
    if (known?.uid === config.uid) {
      if (Number(config.resourceVersion) <= Number(known.resourceVersion)) return;
      // What could not be written on the version before may be now.
      const isReleased = this.#writer.release(key);
      if (!known.seen(config, status) && !isReleased) return;
    } else {
      this.configGone(config.ref);
      this.#configs.set(key, new SeenConfig(config, status));
    }
    this.#enter(key, config);
    this.#touch(key, true);
  }

  configGone(ref: ConfigRef): void {
    const key = configKey(ref);
    this.#leave(key);
    this.#configs.delete(key);
    this.#writer.forget(key);
  }

  /** A workload was seen or is gone, or something about it moved. */
  workloadTouched(key: WorkloadKey): void {
    if (this.#configs.size === 0) return;
    for (const { config, target } of this.#naming(key)) {
      const isThere = this.#deps.engine.states.has(target);
      this.#touch(config, isThere !== this.#configs.get(config)?.present.has(target));
    }
  }

  /** Something else is asked for these workloads, by a config or with a consent that came or went. */
  asksChanged(keys: Iterable<WorkloadKey>): void {
    const { states, verdicts } = this.#deps.engine;
    for (const key of keys) {
      const workload = states.get(key)?.workload;
      const owner = workload && verdicts.ownerOf(workload);
      for (const { config } of this.#naming(owner ?? key)) this.#touch(config, true);
    }
  }

  sourceTouched(ref: SourceRef, { before, after, flagsMoved }: SourceChange): void {
    if (this.#configs.size === 0 || (before === after && !flagsMoved)) return;
    const cameOrWent = before === ABSENT || after === ABSENT;
    for (const key of this.#deps.index.dependents(ref)) {
      for (const { config } of this.#naming(key)) this.#touch(config, cameOrWent);
    }
    for (const config of this.#byName.get(nameOf(ref)) ?? []) this.#touch(config, cameOrWent);
    for (const key of this.#byAnyName) if (this.#mayName(key, ref)) this.#touch(key, cameOrWent);
  }

  #mayName(key: ConfigKey, ref: SourceRef): boolean {
    const config = this.#config(key);
    if (!config || !this.#deps.configs.sourceNamespaces(config).includes(ref.namespace)) return false;
    return mayName(config, ref);
  }

  /** A namespace counts from now on, or no longer. */
  scopeChanged(namespace: string): void {
    for (const key of this.#configs.keys()) {
      const config = this.#config(key);
      const isMeant =
        config?.namespaceSelector !== undefined ||
        config?.ref.namespace === namespace ||
        config?.targets.some(({ ref }) => ref.namespace === namespace);
      if (isMeant) this.#touch(key, true);
    }
  }

  outcome(outcome: Outcome): void {
    if (this.#configs.size === 0) return;
    for (const { config, target } of this.#naming(workloadKey(outcome.workload.ref))) {
      const seen = this.#configs.get(config);
      if (!seen || !this.#config(config)) continue;
      this.#touch(config, true);
      if ('changes' in outcome) this.#count(seen, target, outcome);
    }
  }

  #count({ ref: config, tally }: SeenConfig, target: WorkloadKey, outcome: OutcomeWithChanges): void {
    const { workload: owner } = outcome;
    const isOwner = target === workloadKey(owner.ref);
    const workload = isOwner ? owner : this.#deps.engine.states.get(target)?.workload;
    if (!workload) return;
    const wants = wantedBy({ ...this.#deps, policy: this.#deps.options }, config, withTemplateOf(workload, owner));
    const changes = outcome.changes.filter(({ ref }) => wants(ref));
    if (changes.length === 0) return;
    if (outcome.is === 'rolled' || outcome.is === 'replaced') {
      tally.reloaded(target, changes, formatTime(this.#deps.serverNow() / 1000));
    } else if ('error' in outcome) tally.failed(target, changes, outcome.error);
  }

  /** How many there are, by whether their status says Degraded. */
  counts(): Readonly<Record<'degraded' | 'fine', number>> {
    const isDegraded = ({ said }: SeenConfig): boolean =>
      conditionsIn(said).some(({ type, status }) => type === 'Degraded' && status === 'True');
    const degraded = [...this.#configs.values()].filter(isDegraded).length;
    return { degraded, fine: this.#configs.size - degraded };
  }

  /** Writes until the term ends. What the leader before us counted stands in the status. */
  async run(term: AbortSignal): Promise<void> {
    for (const [key, seen] of this.#configs) {
      seen.recall();
      this.#touch(key, true);
    }
    await this.#writer.run(term);
  }

  /** Who names a workload, or a Rollout that has borrowed its template and is reloaded with it. */
  *#naming(key: WorkloadKey): Generator<{ readonly config: ConfigKey; readonly target: WorkloadKey }> {
    for (const target of [key, ...this.#deps.engine.verdicts.borrowersOf(key)]) {
      for (const config of this.#deps.configs.naming(target)) yield { config, target };
    }
  }

  #config(key: ConfigKey): ReloaderConfig | undefined {
    const ref = this.#configs.get(key)?.ref;
    return ref && this.#deps.configs.get(ref);
  }

  #touch(key: ConfigKey, isSoon: boolean): void {
    const seen = this.#configs.get(key);
    if (seen) this.#writer.touch(key, seen, isSoon);
  }

  #factsOf(key: ConfigKey): { readonly seen: SeenConfig; readonly facts: StatusFacts } | undefined {
    const seen = this.#configs.get(key);
    const config = this.#config(key);
    // Another Attune may be the one that counts there: two would never agree.
    if (!seen || !config || !this.#deps.inScope(config.ref.namespace)) return undefined;
    const { states } = this.#deps.engine;
    const targets = new Set(config.targets.map(({ ref }) => workloadKey(ref)));
    seen.present = new Set([...targets].filter((target) => states.has(target)));
    seen.tally.keepOnly(targets);
    const facts = factsOf(this.#deps, config, seen.tally, seen.said);
    for (const ref of toRead(this.#deps, facts)) this.#deps.want(ref);
    return { seen, facts };
  }

  #enter(key: ConfigKey, { names, resourceSelector }: ReloaderConfig): void {
    this.#leave(key);
    const exact = (['ConfigMap', 'Secret'] as const).flatMap((kind) =>
      names[kind].flatMap(({ literal: name }) => (name === undefined ? [] : nameOf({ kind, name }))),
    );
    const isExact = exact.length === names.ConfigMap.length + names.Secret.length;
    if (resourceSelector || !isExact) this.#byAnyName.add(key);
    for (const name of exact) this.#byName.set(name, (this.#byName.get(name) ?? new Set()).add(key));
    const seen = this.#configs.get(key);
    if (seen) seen.names = exact;
  }

  #leave(key: ConfigKey): void {
    this.#byAnyName.delete(key);
    for (const name of this.#configs.get(key)?.names ?? []) {
      const waiting = this.#byName.get(name);
      waiting?.delete(key);
      if (waiting?.size === 0) this.#byName.delete(name);
    }
  }
}

const nameOf = ({ kind, name }: Pick<SourceRef, 'kind' | 'name'>): string => `${kind}/${name}`;
