import { RECORD } from '../../api/annotations.ts';
import type { KubeObject } from '../../api/objects.ts';
import { ABSENT, type Applied, UNKNOWN } from '../../domain/ledger/applied.ts';
import { encodeRecord, readRecord } from '../../domain/ledger/record.ts';
import type { Restart } from '../../domain/ledger/restart.ts';
import type { SourceId } from '../../domain/ledger/source-id.ts';
import type { ShardContent } from './shard.ts';

export interface FormerKeyOptions {
  readonly keyId: string;
  /** Of the key that has replaced it. */
  readonly presentId: string;
  readonly exact: (value: Applied) => Applied;
  /** Converts the digest of a text, such as a template's. */
  readonly text: (value: string) => string;
}

/** A key that was replaced. Converts what was written with it into what the present key would have written. */
export class FormerKey {
  readonly options: FormerKeyOptions;

  constructor(options: FormerKeyOptions) {
    this.options = options;
  }

  applied(value: Applied): Applied {
    return value === ABSENT || value === UNKNOWN ? value : this.options.exact(value);
  }

  /** A shard of the checkpoint; one that was not written with this key stays as it is. */
  shard(content: ShardContent): ShardContent {
    const { keyId, presentId } = this.options;
    if (content.key !== keyId) return content;
    const entries = Object.entries(content.workloads).map(
      // Of a template's digest only the first letters are kept: they cannot be converted.
      ([key, { looks: _, restart, ...entry }]) =>
        [
          key,
          { ...entry, applied: this.#sources(entry.applied), ...(restart && { restart: this.#restart(restart) }) },
        ] as const,
    );
    return { ...content, key: presentId, workloads: Object.fromEntries(entries) };
  }

  /** The text of a record; undefined if it was not written with this key. */
  record(text: string | undefined): string | undefined {
    const { keyId, presentId, text: convert } = this.options;
    if (!text?.includes(keyId)) return undefined;
    const record = readRecord(text);
    if (record?.key !== keyId) return undefined;
    const { looks: _, ...rest } = record;
    const { template, sources } = rest;
    return encodeRecord({ ...rest, key: presentId, template: convert(template), sources: this.#sources(sources) });
  }

  /** A workload with its record converted; undefined if it has none that was written with this key. */
  workload(object: KubeObject): KubeObject | undefined {
    const { metadata } = object;
    const record = this.record(metadata.annotations?.[RECORD]);
    if (record === undefined) return undefined;
    return { ...object, metadata: { ...metadata, annotations: { ...metadata.annotations, [RECORD]: record } } };
  }

  #restart({ changes, ...rest }: Restart): Restart {
    const converted = Object.entries(changes).map(([id, [data, since]]) => [id, [this.applied(data), since]] as const);
    return { ...rest, changes: Object.fromEntries(converted) };
  }

  #sources(sources: Readonly<Record<SourceId, Applied>>): Record<SourceId, Applied> {
    return Object.fromEntries(Object.entries(sources).map(([id, value]) => [id, this.applied(value)]));
  }
}
