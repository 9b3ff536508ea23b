import type { DataObject } from '../../api/objects.ts';
import { SECRETS } from '../../api/resources.ts';
import type { SourceRef } from '../../api/sources.ts';
import type { Settings } from '../../config/settings.ts';
import { Beliefs } from '../../controller/engine/beliefs.ts';
import { type Evidence, UNKNOWN } from '../../domain/ledger/ledger.ts';
import { type Workload, workloadKey } from '../../domain/workload/workload.ts';
import type { KubeClient } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { CheckpointReader, type Loaded } from '../../model/ledger/checkpoint-reader.ts';
import { KEY_SECRET, keysIn, type LedgerKey, type StoredKeys, withKey } from '../../model/ledger/ledger-key.ts';
import { Runs } from '../../model/ledger/runs.ts';
import type { SourceHistory } from '../../model/sources/source-history.ts';
import { sourceId, type WorkloadState } from '../../model/workload-state.ts';
import { createDigest } from '../../runtime/digest.ts';

/** What Attune wrote down in the cluster, for those who only read it. */
export interface LedgerView {
  readonly key: Pick<LedgerKey, 'digest' | 'former'>;
  /** Whether the fingerprints of the ledger can be compared with those of the sources. */
  readonly known: boolean;
  /** What was written down about one source of a workload. */
  readonly word: (state: WorkloadState, ref: SourceRef, sources: SourceHistory) => LedgerWord;
  /** A Job that a CronJob was made to run may carry the CronJob's record. */
  readonly noteRun: (job: Workload) => void;
  /** What the user should know about the answers. */
  readonly notes: readonly string[];
}

export interface LedgerWord extends Pick<Evidence, 'record' | 'checkpoint'> {
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
  const { result, unreadable } = await checkpoint.load();
  const runs = new Runs();
  return {
    key,
    known: true,
    notes: unreadable
      ? [`the checkpoint in namespace ${namespace} cannot be read: ${unreadable.message}`]
      : NOTES[result],
    noteRun: (job) => void runs.note(job),
    word(state, ref, sources) {
      const { workload } = state;
      const serverNow = () => client.serverNow();
      const seen = {
        sources,
        checkpoint,
        keyId,
        policy: settings,
        serverNow,
        sharedVersions: () => false,
        listed: ALL,
      };
      const beliefs = new Beliefs(seen, { settlesByMark: () => false }, runs);
      const id = sourceId(ref);
      // As at a start of the controller: without a checkpoint that can be believed nothing of the past is.
      const record = checkpoint.believable || unreadable ? beliefs.recordOf(workload) : undefined;
      const entry = checkpoint.entry(workloadKey(workload.ref), workload.uid);
      return {
        record: record && { seq: record.seq, applied: record.sources[id] },
        checkpoint: entry && { seq: entry.seq, applied: entry.applied[id] },
        isDoubted: !unreadable && beliefs.about(state, ref) === UNKNOWN,
        writtenAt: record?.at,
      };
    },
  };
}

const ALL = { has: () => true };

const NOTES: Readonly<Record<Loaded['result'], readonly string[]>> = {
  found: [],
  'first-start': ['Attune has written no checkpoint yet: what runs counts as current'],
  'too-old': ['the checkpoint is older than --catch-up-max: what runs counts as current'],
  'other-key': ['the checkpoint was written with another key or in the other mode: what runs counts as current'],
};

const withoutKey = (why: string): LedgerView => ({
  key: { digest: createDigest(new Uint8Array()), former: undefined },
  known: false,
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
