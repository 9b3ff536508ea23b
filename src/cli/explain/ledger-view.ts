import type { DataObject } from '../../api/objects.ts';
import { SECRETS } from '../../api/resources.ts';
import type { SourceRef } from '../../api/sources.ts';
import type { Settings } from '../../config/settings.ts';
import type { Strategy } from '../../domain/asks/ask.ts';
import { UNKNOWN } from '../../domain/ledger/applied.ts';
import type { Word } from '../../domain/ledger/believe.ts';
import { sourceId } from '../../domain/ledger/source-id.ts';
import type { KeptReloads } from '../../domain/state/own-reloads.ts';
import { type Workload, workloadKey } from '../../domain/workload/workload.ts';
import type { KubeClient } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { Evidence } from '../../model/evidence.ts';
import { CheckpointReader, type Loaded } from '../../model/ledger/checkpoint-reader.ts';
import { KEY_SECRET, keysIn, type LedgerKey, type StoredKeys, withKey } from '../../model/ledger/ledger-key.ts';
import { PastRecords } from '../../model/ledger/past-records.ts';
import { Runs } from '../../model/ledger/runs.ts';
import type { SourceHistory } from '../../model/sources/source-history.ts';
import { createDigest } from '../../runtime/digest.ts';

/** What Attune wrote down in the cluster, for those who only read it. */
export interface LedgerView {
  readonly key: Pick<LedgerKey, 'digest' | 'former' | 'contentHash'>;
  /** Whether the fingerprints of the ledger can be compared with those of the sources. */
  readonly known: boolean;
  /** What was written down about one source of a workload. */
  readonly word: (workload: Workload, ref: SourceRef, sources: SourceHistory, strategy: Strategy) => LedgerWord;
  /** When we last reloaded a workload, and whether its pods are being evicted. */
  readonly reloads: (workload: Workload) => KeptReloads;
  /** A Job that a CronJob was made to run may carry the CronJob's record. */
  readonly noteRun: (job: Workload) => void;
  /** What the user should know about the answers. */
  readonly notes: readonly string[];
}

export interface LedgerWord {
  readonly record: Word | undefined;
  readonly checkpoint: Word | undefined;
  /** Whether a controller that starts now would not take it for certain: it may be older than the pods. */
  readonly isDoubted: boolean;
  /** Second at which the template was last written for a change; undefined: nobody wrote that down. */
  readonly writtenAt: number | undefined;
}

/** Reads the key and the checkpoint, and writes nothing: unlike the controller it makes no key where there is none. */
export async function readLedger(
  client: KubeClient,
  settings: Settings,
  ownNamespace: string | undefined,
): Promise<LedgerView> {
  const found = await findKey(client, ownNamespace);
  if (typeof found === 'string') return withoutKey(found);
  const { namespace } = found;
  const key = withKey(found.key, settings.compat, found.former);
  const { keyId } = key;
  const checkpoint = new CheckpointReader({ ...settings, ...key, client, namespace });
  const { result, lost, unreadable } = await checkpoint.load();
  const runs = new Runs();
  const records = new PastRecords({ keyId, checkpoint }, runs);
  // Whether marks settle is asked elsewhere, and two listings say nothing about the order of versions.
  const rules = {
    ...{ compat: false, sapCompat: false, sharedVersions: () => false, serverNow: () => client.serverNow() },
    configHash: () => undefined,
  };
  return {
    key,
    known: true,
    notes: unreadable
      ? [`the checkpoint in namespace ${namespace} cannot be read: ${unreadable.message}`]
      : [
          ...NOTES[result],
          ...lost.map((shard) => `${shard} in namespace ${namespace} is missing, damaged or unreadable`),
        ],
    reloads: (workload) => records.reloadsOf(workload),
    noteRun: (job) => void runs.note(job),
    word(workload, ref, sources, strategy) {
      const evidence = new Evidence({ ...rules, sources, checkpoint, records, listed: ALL });
      const id = sourceId(ref, workload.ref.namespace);
      // As at a start of the controller: without a checkpoint that can be believed nothing of the past is.
      const record = checkpoint.believable || unreadable ? records.recordOf(workload) : undefined;
      const entry = checkpoint.entry(workloadKey(workload.ref), workload.uid);
      return {
        record: record && { seq: record.seq, applied: record.sources[id] },
        checkpoint: entry && { seq: entry.seq, applied: entry.applied[id] },
        isDoubted: !unreadable && evidence.about(workload, ref, { strategy }) === UNKNOWN,
        writtenAt: record?.at,
      };
    },
  };
}

const ALL = { has: () => true };

const NOTES: Readonly<Record<Loaded['result'], readonly string[]>> = {
  found: [],
  'first-start': ['Attune has written no checkpoint yet: what runs counts as current'],
  'other-format': [
    'the checkpoint was written in another format, by an earlier version of Attune: what runs counts as current',
  ],
  'too-old': ['the checkpoint is older than --catch-up-max: what runs counts as current'],
  'other-key': [
    'the checkpoint was written with another key, in the other mode or by an earlier version: what runs counts as current',
  ],
};

const withoutKey = (why: string): LedgerView => ({
  key: { digest: createDigest(new Uint8Array()), former: undefined, contentHash: undefined },
  known: false,
  reloads: () => ({}),
  noteRun: () => {},
  notes: [`${why}: whether a change waits is told by the marks alone`],
  word: () => ({ record: undefined, checkpoint: undefined, isDoubted: false, writtenAt: undefined }),
});

type FoundKey = StoredKeys & { readonly namespace: string };

/** Where Attune lives is known from its Deployment or a variable; else a key anywhere tells it. */
async function findKey(client: KubeClient, namespace: string | undefined): Promise<FoundKey | string> {
  const where = namespace === undefined ? 'in any namespace' : `in namespace ${namespace}`;
  try {
    const found = namespace === undefined ? await everywhere(client) : [await keyOf(client, namespace)];
    const [key, ...others] = found;
    if (!key) return `no Secret ${KEY_SECRET} was found ${where}`;
    if (others.length > 0) return `there are ${found.length} Secrets ${KEY_SECRET}; choose one with ATTUNE_NAMESPACE`;
    return key;
  } catch (error) {
    if (KubeError.is(error, 'NotFound')) return `no Secret ${KEY_SECRET} was found ${where}`;
    if (KubeError.is(error, 'Forbidden')) return `you may not read the Secret ${KEY_SECRET} ${where}`;
    throw error;
  }
}

async function everywhere(client: KubeClient): Promise<readonly FoundKey[]> {
  const found: FoundKey[] = [];
  const scope = { fieldSelector: `metadata.name=${KEY_SECRET}` };
  for await (const { items } of client.list(SECRETS, scope, { metadataOnly: true })) {
    for (const { metadata } of items) found.push(await keyOf(client, metadata.namespace ?? ''));
  }
  return found;
}

async function keyOf(client: KubeClient, namespace: string): Promise<FoundKey> {
  return { namespace, ...keysIn(await client.get<DataObject>(SECRETS, { namespace, name: KEY_SECRET })) };
}
