import type { KubeObject } from '../../api/objects.ts';
import { SOURCE_RESOURCES } from '../../api/resources.ts';
import { type SourceKey, type SourceRef, sourceKey } from '../../api/sources.ts';
import type { ReadHash } from '../../domain/admission/request.ts';
import { type ListedSources, listedRefs, listedSources } from '../../domain/config-hash/config-hash.ts';
import type { Source } from '../../domain/source/source.ts';
import { isSubdomain } from '../../domain/text/subdomain.ts';
import type { KubeClient } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { createConfigHash } from '../../model/config-hash.ts';
import type { LedgerKey } from '../../model/ledger/ledger-key.ts';
import type { ObjectParser } from '../../model/object-parser.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { AdmissionMetrics } from '../../telemetry/metric-tables/admission.ts';

export interface LiveHashDeps extends Pick<LedgerKey, 'mayStore'> {
  readonly client: Pick<KubeClient, 'read'>;
  readonly parser: Pick<ObjectParser, 'source'>;
  readonly clock: Clock;
  readonly metrics: Pick<AdmissionMetrics, 'increment'>;
}

// The API server gives a webhook three seconds, and somebody waits for each of them.
const READ_MS = 500;
// Half of the client's connections: the others are for the writes of the engine.
const AT_ONCE = 32;

const NOTHING: ListedSources = { ConfigMap: [], Secret: [] };

/**
 * The config hash of what the annotations list, from the API server itself: what a replica has heard by its watches may be
 * older than what the writer has just done.
 */
export function createLiveHash(deps: LiveHashDeps): ReadHash {
  return async (annotations, namespace) => {
    const trimmed = listedSources(annotations, false) ?? NOTHING;
    const untrimmed = listedSources(annotations, true) ?? NOTHING;
    const refs = [trimmed, untrimmed].flatMap((listed) => listedRefs(listed, namespace));
    const sources = await readAll(deps, new Map(refs.map((ref) => [sourceKey(ref), ref])));
    if (!(sources instanceof Map)) return sources;

    const known = { get: (ref: SourceRef) => sources.get(sourceKey(ref)) };
    const hashBy = (sapCompat: boolean) =>
      createConfigHash({ sources: known, sapCompat, mayStore: deps.mayStore, isAbsent: () => true }).known;
    return { content: hashBy(false)(trimmed, namespace), versions: hashBy(true)(untrimmed, namespace) };
  };
}

/** Those that exist; or why one of them cannot be told, and then no more is read. */
async function readAll(
  { client, parser, clock, metrics }: LiveHashDeps,
  refs: ReadonlyMap<SourceKey, SourceRef>,
): Promise<Map<SourceKey, Source> | { readonly error: string }> {
  const found = new Map<SourceKey, Source>();
  const count = (result: string): void => metrics.increment('attune_admission_live_reads_total', { result });
  const calls = new AbortController();
  const { signal } = calls;
  const callOff = clock.after(READ_MS, () => calls.abort(new Late()));
  const waiting = [...refs.values()].filter(canExist).values();
  let error: string | undefined;

  const read = async (ref: SourceRef): Promise<void> => {
    const take = (object: KubeObject): void =>
      void found.set(sourceKey(ref), parser.source(ref.kind, object, true, undefined));
    try {
      await client.read(SOURCE_RESOURCES[ref.kind], ref, take, { signal });
    } catch (problem) {
      // There is none: that is an answer.
      if (!KubeError.is(problem) || problem.status !== 404) throw problem;
    }
    count('success');
  };
  const failed = (ref: SourceRef, problem: unknown): void => {
    // Who was called off because of the first one has nothing to say.
    if (error !== undefined) return;
    error = `${ref.kind} ${ref.namespace}/${ref.name} cannot be read: ${reasonOf(problem)}`;
    count(problem instanceof Late ? 'timeout' : 'error');
    calls.abort();
  };
  // They share what is waiting: each takes the next one when it has done with its own.
  const reader = async (): Promise<void> => {
    for (const ref of waiting) {
      await read(ref).catch((problem) => failed(ref, problem));
      if (error !== undefined) return;
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, refs.size) }, reader));
  callOff();
  return error === undefined ? found : { error };
}

class Late extends Error {}

/** Only a KubeError is known to quote no data. */
function reasonOf(problem: unknown): string {
  if (problem instanceof Late) return `the API server has not answered within ${READ_MS} ms`;
  return KubeError.is(problem) ? problem.message : 'the object is not as expected';
}

/** SAP's names may be blank or have a blank in front: no object is called so, and a path made of them might lead elsewhere. */
const canExist = ({ namespace, name }: SourceRef): boolean => isSubdomain(namespace) && isSubdomain(name);
