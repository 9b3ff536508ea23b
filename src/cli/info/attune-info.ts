import type { DataObject } from '../../api/objects.ts';
import { type ParsedSettings, parseSettings } from '../../config/parse-settings.ts';
import type { Settings } from '../../config/settings.ts';

/** The ConfigMap in which a controller publishes its version and flags, in the namespace of the ledger. */
export const INFO_NAME = 'attune-info';

/** Its content; nothing that may hold a credential. */
export interface AttuneInfo {
  readonly namespace: string;
  readonly version: string;
  /** The pod, or the machine. */
  readonly identity: string;
  /** RFC 3339. */
  readonly publishedAt: string;
  /** As one would type them. */
  readonly flags: readonly string[];
  /** Names of flags that are set, but whose values are not published. */
  readonly withheld: readonly string[];
}

/** `data` of the ConfigMap, but for the time. */
export function infoData({ published, compat }: Settings, version: string, identity: string): Record<string, string> {
  return {
    version,
    mode: compat ? 'stakater' : 'default',
    identity,
    flags: published.shown.join('\n'),
    withheld: published.withheld.join('\n'),
  };
}

/** What is missing reads as empty: another version may have written it. */
export function readInfo({ metadata, data }: DataObject): AttuneInfo {
  const linesOf = (key: string): readonly string[] => (data?.[key] ?? '').split('\n').filter((line) => line !== '');
  return {
    namespace: metadata.namespace ?? '',
    version: data?.['version'] ?? '',
    identity: data?.['identity'] ?? '',
    publishedAt: data?.['publishedAt'] ?? '',
    flags: linesOf('flags'),
    withheld: linesOf('withheld'),
  };
}

/** With a webhook nothing is rolled; its address is not needed to judge that. */
const STAND_INS: Readonly<Record<string, string>> = { 'webhook-url': 'http://withheld.invalid' };

/** The settings of the controller that published it, as far as they are known. */
export function publishedSettings({ namespace, identity, flags, withheld }: AttuneInfo): ParsedSettings {
  const standIns = withheld.flatMap((flag) => (STAND_INS[flag] ? [`--${flag}=${STAND_INS[flag]}`] : []));
  // With --enable-ha both are required.
  const env = { POD_NAME: identity || 'unknown', POD_NAMESPACE: namespace };
  return parseSettings([...flags, ...standIns], env);
}

/** Where the flags are from, and what they are. */
export function describeInfo({ namespace, version, publishedAt, flags, withheld }: AttuneInfo): string {
  const all = [...flags, ...withheld.map((flag) => `--${flag}=…`)];
  const source = `ConfigMap ${namespace}/${INFO_NAME} (Attune ${version}, published ${publishedAt})`;
  return `the flags of ${source}: ${all.length > 0 ? all.join(' ') : 'all as by default'}`;
}
