import { listIn, objectIn, textIn } from '../../api/json.ts';
import type { WorkloadKind } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/objects.ts';
import { SECRET_PROVIDER_CLASS_POD_STATUSES } from '../../api/resources.ts';
import { SOURCE_KINDS, type SourceKey, type SourceKind, type SourceRef, sourceKey } from '../../api/sources.ts';
import type { Settings } from '../../config/settings.ts';
import { namedIn } from '../../domain/asks/ask.ts';
import { type Workload, type WorkloadKey, workloadKey } from '../../domain/workload/workload.ts';
import type { KubeClient } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { createObjectParser } from '../../model/object-parser.ts';
import { ReverseIndex } from '../../model/reverse-index.ts';
import { Classes } from '../../model/sources/provider-classes.ts';
import { SourceHistory } from '../../model/sources/source-history.ts';
import { Verdicts } from '../../model/verdicts.ts';
import { newState, type WorkloadState } from '../../model/workload-state.ts';
import { SOURCE_RESOURCES } from '../cluster/kind-words.ts';
import type { LedgerView } from './ledger-view.ts';

/** What an answer needs to know of a source beyond what the rules read. */
export interface SourceFacts {
  /** `unreadable`: this user may not look. */
  readonly presence: 'present' | 'absent' | 'unreadable';
  readonly labels: Readonly<Record<string, string>> | undefined;
  /** When its data was last written, in milliseconds; the server keeps seconds. */
  readonly changedAt: number | undefined;
}

/** One namespace through the controller's own eyes: the same parser, book, graph and verdicts, filled by listing once. */
export class ClusterView {
  readonly sources = new SourceHistory();
  readonly graph = new ReverseIndex();
  readonly states = new Map<WorkloadKey, WorkloadState>();
  readonly verdicts: Verdicts;
  /** What could not be read, one line each. */
  readonly unread: string[] = [];
  readonly #facts = new Map<SourceKey, SourceFacts>();
  readonly #unlisted = new Set<SourceKind>();
  readonly #client: KubeClient;
  readonly #namespace: string;
  readonly #parser: ReturnType<typeof createObjectParser>;

  constructor(
    client: KubeClient,
    namespace: string,
    settings: Settings,
    { digest, former }: Pick<LedgerView, 'digest' | 'former'>,
  ) {
    this.#client = client;
    this.#namespace = namespace;
    this.#parser = createObjectParser({ ...settings, digest, former });
    const { graph, sources } = this;
    this.verdicts = new Verdicts({ graph, sources, policy: settings, inScope: () => true }, this.states);
  }

  /** A workload takes its place; its state is what the controller would begin with. */
  enter(kind: WorkloadKind, object: KubeObject): WorkloadState {
    const state = newState(this.parse(kind, object), undefined);
    this.states.set(workloadKey(state.workload.ref), state);
    this.verdicts.enter(state);
    return state;
  }

  parse(kind: WorkloadKind, object: KubeObject): Workload {
    return this.#parser.workload(kind, object).workload;
  }

  /** All objects of a kind; none where it is not served or may not be listed. */
  async list(kind: WorkloadKind): Promise<readonly KubeObject[]> {
    return (await this.#list(kind, false)) ?? [];
  }

  /** Names, labels and annotations of all sources: the rules need no more. */
  async readSources(withClasses: boolean): Promise<void> {
    for (const kind of SOURCE_KINDS) {
      if (kind === 'SecretProviderClass' && !withClasses) continue;
      const objects = await this.#list(SOURCE_RESOURCES[kind], true);
      if (objects === undefined) this.#unlisted.add(kind);
      for (const object of objects ?? []) this.#note(kind, object, false);
    }
    if (withClasses) await this.#readClasses();
  }

  /** The fingerprint of one source. */
  async readData(ref: SourceRef): Promise<void> {
    if (ref.kind === 'SecretProviderClass' || this.facts(ref).presence === 'absent') return;
    try {
      this.#note(ref.kind, await this.#client.get(SOURCE_RESOURCES[ref.kind], ref), true);
    } catch (error) {
      if (!KubeError.is(error, 'Forbidden', 'NotFound')) throw error;
      const presence = error.reason === 'Forbidden' ? 'unreadable' : 'absent';
      this.#facts.set(sourceKey(ref), { ...this.facts(ref), presence });
    }
  }

  facts(ref: SourceRef): SourceFacts {
    const presence = this.#unlisted.has(ref.kind) ? 'unreadable' : 'absent';
    return this.#facts.get(sourceKey(ref)) ?? { presence, labels: undefined, changedAt: undefined };
  }

  /** What a workload uses or names, in that order. */
  concerns({ workload }: WorkloadState): readonly SourceRef[] {
    const found = new Map<string, SourceRef>();
    const add = (kind: SourceKind, name: string): void => {
      found.set(`${kind}/${name}`, { kind, namespace: this.#namespace, name });
    };
    const key = workloadKey(workload.ref);
    for (const { kind, name } of this.graph.literalsOf(key)) if (name !== '') add(kind, name);
    for (const { kind, pattern } of namedIn(workload.intent.asks)) if (pattern.literal) add(kind, pattern.literal);
    for (const { kind, pattern } of this.graph.patternsOf(key)) {
      for (const { ref } of this.sources.inNamespace(kind, this.#namespace)) {
        if (pattern.matches?.(ref.name)) add(kind, ref.name);
      }
    }
    return [...found.values()];
  }

  #note(kind: SourceKind, object: KubeObject, full: boolean): void {
    const ref: SourceRef = { kind, namespace: this.#namespace, name: object.metadata.name };
    const source = this.#parser.source(kind, object, full, this.sources.get(ref));
    if (full) this.sources.fill(source);
    else this.sources.put(source, false);
    const labels = object.metadata.labels ?? {};
    this.#facts.set(sourceKey(ref), { presence: 'present', labels, changedAt: dataWrittenAt(object) });
  }

  async #readClasses(): Promise<void> {
    const classes = new Classes();
    for (const object of (await this.#list(SECRET_PROVIDER_CLASS_POD_STATUSES, false)) ?? []) {
      const status = this.#parser.classStatus(object);
      const fingerprint = status && classes.listed(status);
      if (!status || !fingerprint) continue;
      const ref: SourceRef = { kind: 'SecretProviderClass', namespace: status.namespace, name: status.className };
      const known = this.sources.get(ref) ?? { ref, uid: '', ignored: false, matchable: false };
      this.sources.put({ ...known, resourceVersion: status.resourceVersion, fingerprint }, false);
      this.#facts.set(sourceKey(ref), { ...this.facts(ref), presence: 'present' });
    }
  }

  /** Undefined: it may not be listed. */
  async #list(
    resource: Parameters<KubeClient['list']>[0],
    metadataOnly: boolean,
  ): Promise<readonly KubeObject[] | undefined> {
    const objects: KubeObject[] = [];
    try {
      for await (const page of this.#client.list(resource, { namespace: this.#namespace }, { metadataOnly })) {
        if (page.fresh) objects.length = 0;
        objects.push(...page.items);
      }
      return objects;
    } catch (error) {
      if (!KubeError.is(error, 'Forbidden', 'NotFound')) throw error;
      if (error.reason === 'NotFound') return [];
      this.unread.push(`you may not list ${resource.plural} in namespace ${this.#namespace}`);
      return undefined;
    }
  }
}

/**
 * The newest write that was about data: labels and annotations are none of our business. Nobody keeps who only took
 * something away; and where nobody keeps anything, nothing is known.
 */
function dataWrittenAt({ metadata }: KubeObject): number | undefined {
  const entries = listIn(objectIn(metadata)['managedFields']).map(objectIn);
  if (entries.length === 0) return undefined;
  const times = entries
    .filter(({ fieldsV1 }) => 'f:data' in objectIn(fieldsV1) || 'f:binaryData' in objectIn(fieldsV1))
    .map(({ time }) => textIn(time));
  const newest = Math.max(...[...times, metadata.creationTimestamp ?? ''].map(Date.parse).filter(Number.isFinite));
  return Number.isFinite(newest) ? newest : undefined;
}
