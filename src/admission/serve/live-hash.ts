import { textIn } from '../../api/json.ts';
import { type SourceKey, type SourceRef, sourceKey } from '../../api/sources.ts';
import type { CurrentHash, HashQuestion } from '../../domain/admission/request.ts';
import { type ListedSources, listedRefs, listedSources, MOST_LISTED } from '../../domain/config-hash/config-hash.ts';
import type { Source } from '../../domain/source/source.ts';
import { isSubdomain } from '../../domain/text/subdomain.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { createConfigHash } from '../../model/config-hash.ts';
import type { LedgerKey } from '../../model/ledger/ledger-key.ts';
import { FairShare } from './fair-share.ts';
import { NOT_NEEDED, SourceReads, type SourceReadsDeps } from './source-reads.ts';

export interface LiveHashDeps extends Pick<LedgerKey, 'contentHash'>, SourceReadsDeps {}

/** Reads what the lists name, for a client, until aborted. Never rejects. */
export type ReadHash = (question: HashQuestion, client: string, signal: AbortSignal) => Promise<CurrentHash>;

/** Of all reviews together: each costs half a kilobyte until its review is answered. */
const SOURCES = 16_384;
/** Reads that one review waits for at once. */
const AT_ONCE = 32;

const NOTHING: ListedSources = { ConfigMap: [], Secret: [] };

/**
 * The config hash of what the annotations list, from the API server itself: what a replica has heard by its watches may be
 * older than what the writer has just done.
 */
export function createLiveHash(deps: LiveHashDeps): ReadHash {
  const reads = new SourceReads(deps);
  const sources = new FairShare(SOURCES);

  const hashOf = async ({ lists, namespace }: HashQuestion, client: string, signal: AbortSignal) => {
    const trimmed = listedSources(lists, false) ?? NOTHING;
    const untrimmed = listedSources(lists, true) ?? NOTHING;
    const refs = [trimmed, untrimmed].flatMap((listed) => listedRefs(listed, namespace));
    const wanted = new Map(refs.map((ref) => [sourceKey(ref), ref]));
    const found = await readAll(wanted, (ref, until) => reads.read(client, ref, until), signal);
    if (!(found instanceof Map)) return found;
    const known = { get: (ref: SourceRef) => found.get(sourceKey(ref)) };
    const hashBy = (contentHash: LedgerKey['contentHash']) =>
      createConfigHash({ sources: known, contentHash, isAbsent: () => true }).known;
    return { content: hashBy(deps.contentHash)(trimmed, namespace), versions: hashBy(undefined)(untrimmed, namespace) };
  };

  return async (question, client, signal) => {
    const count = namesIn(question);
    if (count > MOST_LISTED) return { error: `${count} sources are listed: expected at most ${MOST_LISTED}` };
    const release = await sources.take(client, count, signal).catch(() => undefined);
    if (!release) return { error: 'the listed sources cannot be read in time: other reviews list too many' };
    return await hashOf(question, client, signal).finally(release);
  };
}

/** Counted before anything is made of them. */
function namesIn({ lists }: HashQuestion): number {
  let count = 0;
  for (const list of Object.values(lists).map(textIn)) {
    if (list !== '') count += 1;
    for (let at = list.indexOf(','); at >= 0; at = list.indexOf(',', at + 1)) count += 1;
  }
  return count;
}

type ReadSource = (ref: SourceRef, until: AbortSignal) => Promise<Source | undefined>;

/** Those that exist; or why one of them cannot be told, and then no more is read. */
async function readAll(
  refs: ReadonlyMap<SourceKey, SourceRef>,
  read: ReadSource,
  signal: AbortSignal,
): Promise<Map<SourceKey, Source> | { readonly error: string }> {
  const found = new Map<SourceKey, Source>();
  const failed = new AbortController();
  const until = AbortSignal.any([signal, failed.signal]);
  const waiting = [...refs.values()].filter(canExist).values();
  let error: string | undefined;
  // They share what is waiting: each takes the next one when it has done with its own.
  const reader = async (): Promise<void> => {
    for (const ref of waiting) {
      try {
        const source = await read(ref, until);
        if (source) found.set(sourceKey(ref), source);
      } catch (problem) {
        error ??= `${ref.kind} ${ref.namespace}/${ref.name} cannot be read: ${signal.aborted ? 'no time is left' : reasonOf(problem)}`;
        failed.abort(NOT_NEEDED);
        return;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, refs.size) }, reader));
  return error === undefined ? found : { error };
}

/** Only a KubeError is known to quote no data. */
function reasonOf(problem: unknown): string {
  return KubeError.is(problem) ? problem.message : 'the object is not as expected';
}

/** SAP's names may be blank or have a blank in front: no object is called so, and a path made of them might lead elsewhere. */
const canExist = ({ namespace, name }: SourceRef): boolean => isSubdomain(namespace) && isSubdomain(name);
