import { CONFIG_HASH } from '../../api/annotations.ts';
import type { SourceRef } from '../../api/sources.ts';
import { listsWith } from '../asks/sap-annotations.ts';
import type { Applied } from '../ledger/applied.ts';
import type { SourceId } from '../ledger/source-id.ts';
import type { Workload } from '../workload/workload.ts';
import type { OwnWrite } from './own-marks.ts';
import type { StateRules } from './source-past.ts';

/**
 * SAP: whether pods run with what is listed is told by the template's config hash and by nothing else, also to whoever meets
 * the workload for the first time. Undefined: we do not go by it, or cannot tell what it should be.
 */
export function hashSays(workload: Workload, ref: SourceRef, rules: StateRules): 'current' | 'other' | undefined {
  const listed = rules.sapCompat ? listsWith(workload.intent, ref) : undefined;
  const hash = listed && rules.configHash(listed, workload.ref.namespace);
  if (hash === undefined) return undefined;
  return workload.templateAnnotations[CONFIG_HASH] === hash ? 'current' : 'other';
}

/** The config hash of our last write, which stands for all that was listed and changed. */
export class OwnHash {
  readonly #value: string;
  readonly #before: string | undefined;
  /** How often it was written in a row. */
  readonly #times: number;
  /** What it stands for. */
  readonly data: ReadonlyMap<SourceId, Applied>;

  constructor(value: string, { changes, hashBefore }: OwnWrite, last: OwnHash | undefined) {
    const hashed = changes.filter(({ verdict }) => verdict.strategy === 'config-hash');
    this.#value = value;
    this.#before = hashBefore;
    this.#times = last && last.#value === value ? last.#times + 1 : 1;
    this.data = new Map([...(last?.data ?? []), ...hashed.map(({ id, current }) => [id, current] as const)]);
  }

  /**
   * Whether another writer undid the write: the hash is gone, or the one before is back. Any other value was made by
   * somebody who knows what there is, perhaps later than we do; unless we put ours back already, and not for the first time.
   */
  isTaken({ ref, intent, templateAnnotations }: Workload, { configHash }: StateRules): boolean {
    const { [CONFIG_HASH]: carried } = templateAnnotations;
    if (carried === this.#value) return false;
    const listed = intent.asks.find((ask) => ask.listed)?.listed;
    if (listed && carried !== undefined && carried === configHash(listed, ref.namespace)) return false;
    return carried === undefined || carried === this.#before || this.#times > 1;
  }
}
