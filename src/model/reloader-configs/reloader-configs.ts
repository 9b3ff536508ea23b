import type { Ask } from '../../domain/asks/ask.ts';
import { ExpressionBudget, isRefused } from '../../domain/asks/expression-budget.ts';
import { Faults } from '../../domain/asks/faults.ts';
import { countNames, firstNames, NameBudget, NO_ROOM_FOR_NAMES } from '../../domain/asks/name-budget.ts';
import type { NamePattern } from '../../domain/asks/name-pattern.ts';
import {
  type ConfigKey,
  type ConfigProblem,
  type ConfigRef,
  type ConfigTarget,
  configKey,
  type ReloaderConfig,
} from '../../domain/reloader-config/config.ts';
import { type AskRules, asksOf } from '../../domain/reloader-config/config-asks.ts';
import { type WorkloadKey, workloadKey } from '../../domain/workload/workload.ts';
import { type Allowances, Consents, type NamespaceFacts } from './consents.ts';

export interface ReloaderConfigsOptions extends AskRules {
  readonly allowReloads: Allowances;
}

/** A config that names a workload, with what it says about it. */
export interface Naming {
  readonly config: ReloaderConfig;
  readonly target: ConfigTarget;
}

const NO_ASKS: readonly Ask[] = [];
const NOBODY: ReadonlyMap<ConfigKey, ConfigTarget> = new Map();

/** All ReloaderConfigs, and what they ask for each workload that they name. */
export class ReloaderConfigs {
  readonly consents: Consents;
  /** What expressions take in each namespace: those of configs, and those that workloads ask with. */
  readonly expressions = new ExpressionBudget();
  /** How many names are asked for in each namespace. */
  readonly names = new NameBudget();
  readonly #options: ReloaderConfigsOptions;
  /** Within the budgets of their namespace. */
  readonly #configs = new Map<ConfigKey, ReloaderConfig>();
  readonly #written = new Map<ConfigKey, ReloaderConfig>();
  readonly #naming = new Map<WorkloadKey, Map<ConfigKey, ConfigTarget>>();
  /** Worked out when they are first needed, and again after something changed. */
  readonly #asks = new Map<WorkloadKey, readonly Ask[]>();
  readonly #sourceNamespaces = new Map<ConfigKey, readonly string[]>();

  constructor(options: ReloaderConfigsOptions) {
    this.#options = options;
    this.consents = new Consents(options.allowReloads);
  }

  get(ref: ConfigRef): ReloaderConfig | undefined {
    return this.#configs.get(configKey(ref));
  }

  values(): Iterable<ReloaderConfig> {
    return this.#configs.values();
  }

  /** Gives back the workloads for which something else may be asked from now on. */
  put(config: ReloaderConfig): ReadonlySet<WorkloadKey> {
    const touched = new Set(this.remove(config.ref));
    const key = configKey(config.ref);
    this.#written.set(key, config);
    this.#configs.set(key, this.#withinBudget(config));
    for (const target of config.targets) {
      const workload = workloadKey(target.ref);
      const naming = this.#naming.get(workload) ?? new Map<ConfigKey, ConfigTarget>();
      this.#naming.set(workload, naming.set(key, target));
      touched.add(workload);
    }
    return this.#outdated(touched);
  }

  remove(ref: ConfigRef): ReadonlySet<WorkloadKey> {
    const key = configKey(ref);
    const known = this.#configs.get(key);
    const touched = new Set(known?.targets.map((target) => workloadKey(target.ref)));
    this.#configs.delete(key);
    this.#written.delete(key);
    this.expressions.release(ref.namespace, holderOf(key));
    this.names.release(holderOf(key));
    this.#sourceNamespaces.delete(key);
    for (const workload of touched) {
      const naming = this.#naming.get(workload);
      naming?.delete(key);
      if (naming?.size === 0) this.#naming.delete(workload);
    }
    return this.#outdated(touched);
  }

  #withinBudget(config: ReloaderConfig): ReloaderConfig {
    return this.#withinNames(this.#withinExpressions(config));
  }

  /** Without the names for which there is no room in its namespace: the index has an entry for each name and target. */
  #withinNames(config: ReloaderConfig): ReloaderConfig {
    const { ref, names, targets } = config;
    const timesEach = targets.length * this.consents.sourceNamespaces(ref.namespace, config.namespaceSelector).length;
    const count = countNames(names.ConfigMap) + countNames(names.Secret);
    const held = this.names.hold(ref.namespace, holderOf(configKey(ref)), count, timesEach);
    if (held === count) return config;
    const problems: ConfigProblem[] = [];
    let room = held;
    const within = (list: 'ConfigMap' | 'Secret', field: string): readonly NamePattern[] => {
      const faults = new Faults(`spec.watchedResources.${field}`);
      const left = firstNames(names[list], room, (text) => faults.add(text, NO_ROOM_FOR_NAMES));
      room -= countNames(left);
      problems.push(...faults.problems());
      return left;
    };
    const left = { ConfigMap: within('ConfigMap', 'configMaps'), Secret: within('Secret', 'secrets') };
    return { ...config, names: left, problems: [...config.problems, ...problems] };
  }

  /** Without the expressions for which there is no room in its namespace. */
  #withinExpressions(config: ReloaderConfig): ReloaderConfig {
    const { ref, names } = config;
    const patterns = [...names.ConfigMap, ...names.Secret];
    const refused = this.expressions.hold(ref.namespace, holderOf(configKey(ref)), patterns);
    if (refused.size === 0) return config;
    const faults = new Faults('spec.watchedResources');
    const isLeft = (pattern: NamePattern): boolean =>
      !isRefused(pattern, refused, (text, fault) => faults.add(text, fault));
    const left = { ConfigMap: names.ConfigMap.filter(isLeft), Secret: names.Secret.filter(isLeft) };
    return { ...config, names: left, problems: [...config.problems, ...faults.problems()] };
  }

  /** A Namespace was seen; without facts it is gone. Gives back as `put`. */
  namespaceSeen(namespace: string, facts: NamespaceFacts | undefined): ReadonlySet<WorkloadKey> {
    const others = [...this.#configs.values()].filter(({ ref }) => ref.namespace !== namespace);
    const before = others.map((config) => this.#standingOf(config, namespace));
    if (facts) this.consents.seen(namespace, facts);
    else this.consents.gone(namespace);
    const touched = new Set<WorkloadKey>();
    for (const [n, config] of others.entries()) {
      const { allows, isSource } = this.#standingOf(config, namespace);
      if (isSource !== before[n]?.isSource) this.#sourcesMoved(configKey(config.ref));
      for (const { ref } of config.targets) {
        const isMoved = ref.namespace === namespace && allows !== before[n]?.allows;
        if (isMoved || isSource !== before[n]?.isSource) touched.add(workloadKey(ref));
      }
    }
    return this.#outdated(touched);
  }

  /** A config has more or fewer namespaces of sources: its names take more or less room. */
  #sourcesMoved(key: ConfigKey): void {
    this.#sourceNamespaces.delete(key);
    const written = this.#written.get(key);
    if (written) this.#configs.set(key, this.#withinBudget(written));
  }

  #standingOf({ ref, namespaceSelector }: ReloaderConfig, namespace: string) {
    return {
      allows: this.consents.allows(namespace, ref.namespace),
      isSource: this.consents.isSource(namespace, ref.namespace, namespaceSelector),
    };
  }

  /** Where the sources of a config may be. */
  sourceNamespaces({ ref, namespaceSelector }: ReloaderConfig): readonly string[] {
    const key = configKey(ref);
    const known = this.#sourceNamespaces.get(key);
    if (known) return known;
    const namespaces = this.consents.sourceNamespaces(ref.namespace, namespaceSelector);
    if (this.#configs.has(key)) this.#sourceNamespaces.set(key, namespaces);
    return namespaces;
  }

  /** Whoever names a workload, allowed or not. */
  naming(key: WorkloadKey): Iterable<ConfigKey> {
    return (this.#naming.get(key) ?? NOBODY).keys();
  }

  /** Those that name a workload and may, the oldest first: the first one that wants a source decides. */
  namingOf(key: WorkloadKey): readonly Naming[] {
    const naming = [...(this.#naming.get(key) ?? NOBODY)].flatMap(([each, target]) => {
      const config = this.#configs.get(each);
      return config && this.consents.allows(target.ref.namespace, config.ref.namespace) ? [{ config, target }] : [];
    });
    return naming.sort((a, b) => byAge(a.config, b.config));
  }

  /** What is asked for a workload. The same array as long as nothing changed. */
  asksFor(key: WorkloadKey): readonly Ask[] {
    if (!this.#naming.has(key)) return NO_ASKS;
    const known = this.#asks.get(key);
    if (known) return known;
    const asks = this.namingOf(key).flatMap(({ config, target }) =>
      asksOf(config, target, this.sourceNamespaces(config), this.#options),
    );
    this.#asks.set(key, asks);
    return asks;
  }

  /**
   * From which version on a config asks for something in these namespaces: its own, or that of the last consent that it
   * needed. Their watches have no order in common.
   */
  askedFrom(ref: ConfigRef, namespaces: readonly string[]): number {
    const others = namespaces.filter((namespace) => namespace !== ref.namespace);
    const own = Number(this.get(ref)?.resourceVersion ?? 0);
    return Math.max(own, ...others.map((namespace) => this.consents.versionOf(namespace)));
  }

  #outdated(touched: ReadonlySet<WorkloadKey>): ReadonlySet<WorkloadKey> {
    for (const key of touched) this.#asks.delete(key);
    return touched;
  }
}

const holderOf = (key: ConfigKey): string => `ReloaderConfig ${key}`;

/** The oldest first, then by name: whoever comes first decides. */
export function byAge(a: ReloaderConfig, b: ReloaderConfig): number {
  if (a.createdAt !== b.createdAt) return a.createdAt < b.createdAt ? -1 : 1;
  return configKey(a.ref) < configKey(b.ref) ? -1 : 1;
}
