import { listIn, objectAt, objectIn, textIn } from '../../api/json.ts';
import { type Overrides, originText } from '../../domain/asks/ask.ts';
import { cooldownEnd } from '../../domain/plan/cooldown.ts';
import type { ConfigRef } from '../../domain/reloader-config/config.ts';
import { howToAllow } from '../../domain/reloader-config/consent-text.ts';
import type { Workload, WorkloadRef } from '../../domain/workload/workload.ts';
import type { ReadConfig } from '../../model/reloader-configs/read-configs.ts';
import { byAge } from '../../model/reloader-configs/reloader-configs.ts';
import { type Judging, whyNotFollowed } from './judging.ts';

/** A ReloaderConfig that names a workload. */
export interface NamingConfig extends ConfigRef {
  /** Of the target: `spec.targets[2]`. */
  readonly path: string;
  /** Undefined: it counts. */
  readonly ignoredBecause: string | undefined;
  /** Nothing: as the flags say. */
  readonly overrides: Pick<Overrides, 'strategy' | 'rolloutStrategy' | 'cooldownMs'>;
  /** What in it cannot be understood, as far as it is about this workload. */
  readonly problems: readonly string[];
}

/** Those that name a workload, the one that decides first; also those that do not count, and why. */
export function configsNaming({ ref }: Workload, { configs, snapshot, settings }: Judging): readonly NamingConfig[] {
  const { consents } = snapshot.configs;
  const whyIgnored = ({ config }: ReadConfig): string | undefined => {
    const { namespace } = config.ref;
    if (config.isIgnored) return `it carries ${settings.keys.ignore}: "true"`;
    // What nobody follows was not asked for its consent.
    const notFollowed = whyNotFollowed(namespace, settings);
    if (notFollowed !== undefined || consents.allows(ref.namespace, namespace)) return notFollowed;
    const readsNamespaces = settings.scope.mode === 'global';
    return `namespace ${ref.namespace} does not allow it: ${howToAllow(ref.namespace, namespace, readsNamespaces)}`;
  };
  return configs
    .toSorted((a, b) => byAge(a.config, b.config))
    .flatMap((read): readonly NamingConfig[] => {
      const at = targetsNaming(read, ref)[0];
      if (at === undefined) return [];
      const target = read.config.targets.find(({ path }) => path === pathOf(at));
      const broken = target ? undefined : 'it cannot be understood';
      return [
        {
          ...read.config.ref,
          path: pathOf(at),
          ignoredBecause: whyIgnored(read) ?? broken,
          overrides: {
            strategy: target?.reloadStrategy,
            rolloutStrategy: target?.rolloutStrategy,
            cooldownMs: target?.pausePeriodMs,
          },
          problems: problemsOf(read, ref),
        },
      ];
    });
}

const pathOf = (index: number): string => `spec.targets[${index}]`;

/** Which of the targets are this workload, as they were written: what cannot be understood is no target any more. */
function targetsNaming({ object, config }: ReadConfig, { kind, namespace, name }: WorkloadRef): readonly number[] {
  return listIn(objectAt(object, ['spec'])['targets']).flatMap((target, index) => {
    const given = objectIn(target);
    const isIt = given['kind'] === kind && given['name'] === name;
    return isIt && (textIn(given['namespace']) || config.ref.namespace) === namespace ? index : [];
  });
}

/** Those of other targets are none of its business. */
function problemsOf(read: ReadConfig, ref: WorkloadRef): readonly string[] {
  const own = targetsNaming(read, ref).map(pathOf);
  const { namespace, name } = read.config.ref;
  return read.config.problems
    .filter(({ path }) => !path.startsWith('spec.targets[') || own.some((each) => path.startsWith(each)))
    .map(({ path, message }) => `ReloaderConfig ${namespace}/${name} ${path} ${message}`);
}

/** That after a reload the next one waits. */
export interface Cooldown {
  readonly periodMs: number;
  /** The ReloaderConfig that says so. */
  readonly by: string;
  /** RFC 3339; undefined: nothing was reloaded yet, as far as is known. */
  readonly until: string | undefined;
}

/** By the first that counts: what another one asks for may wait longer, or less. `at`: second of the last reload. */
export function cooldownOf(
  configs: readonly NamingConfig[],
  at: number | undefined,
  nowMs: number,
): Cooldown | undefined {
  const first = configs.find(({ ignoredBecause }) => ignoredBecause === undefined);
  const periodMs = first?.overrides.cooldownMs;
  if (!first || !periodMs) return undefined;
  const end = cooldownEnd({ at }, periodMs, nowMs);
  return { periodMs, by: configText(first), until: end === undefined ? undefined : new Date(end).toISOString() };
}

export const configText = ({ namespace, name, path }: Pick<NamingConfig, 'namespace' | 'name' | 'path'>): string =>
  originText({ by: 'config', namespace, name, path });
