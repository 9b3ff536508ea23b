import type { WorkloadKind } from '../api/kinds.ts';
import type { KubeObject } from '../api/objects.ts';
import { type Resource, SECRET_PROVIDER_CLASS_POD_STATUSES, SOURCE_RESOURCES } from '../api/resources.ts';
import { type SourceKey, type SourceKind, type SourceRef, sourceKey } from '../api/sources.ts';
import { namedIn } from '../domain/asks/ask.ts';
import { type ListedSources, listedRefs } from '../domain/config-hash/config-hash.ts';
import type { Policy } from '../domain/judge/verdict.ts';
import { type SourceId, sourceId } from '../domain/ledger/source-id.ts';
import { type Workload, type WorkloadKey, workloadKey } from '../domain/workload/workload.ts';
import type { KubeClient } from '../kube/client.ts';
import { KubeError } from '../kube/kube-error.ts';
import { concernsOf, type Known } from './concerns.ts';
import { createConfigHash } from './config-hash.ts';
import type { LedgerKey } from './ledger/ledger-key.ts';
import { listAll } from './list-all.ts';
import { createObjectParser, dataWrittenAt, type ObjectParser } from './object-parser.ts';
import { ReverseIndex } from './reverse-index.ts';
import { Classes } from './sources/provider-classes.ts';
import { SourceHistory } from './sources/source-history.ts';
import { Verdicts } from './verdicts.ts';

export interface SnapshotOptions {
  readonly client: KubeClient;
  /** Undefined: all namespaces. */
  readonly namespace: string | undefined;
  readonly policy: Policy;
  /** Marks are right with any key; exact fingerprints only with that of the ledger. */
  readonly key: Pick<LedgerKey, 'digest' | 'former'>;
}

/** What is known of a source beyond what the rules read. */
export interface SourceFacts {
  /** `unreadable`: this user may not read it, or it was not looked for yet. */
  readonly presence: 'present' | 'absent' | 'unreadable';
  readonly labels: Readonly<Record<string, string>> | undefined;
  /** When its data was last written, in milliseconds; the server keeps seconds. */
  readonly changedAt: number | undefined;
}

/** The model of one namespace, or of all, filled by listing once instead of following: for those who only answer a question. */
export class Snapshot {
  readonly sources = new SourceHistory();
  readonly index = new ReverseIndex();
  readonly workloads = new Map<WorkloadKey, Workload>();
  readonly verdicts: Verdicts;
  /** Plural names of the kinds that may not be listed. */
  readonly forbidden: string[] = [];
  readonly #options: SnapshotOptions;
  readonly #parser: ObjectParser;
  readonly #known: Known;
  readonly #facts = new Map<SourceKey, SourceFacts>();
  readonly #listed = new Set<SourceKind>();

  constructor(options: SnapshotOptions) {
    const { policy, key } = options;
    this.#options = options;
    this.#parser = createObjectParser({ ...policy, ...key });
    this.#known = { index: this.index, sources: this.sources, inScope: () => true };
    this.verdicts = new Verdicts({ ...this.#known, policy, workload: (of) => this.workloads.get(of) });
  }

  enter(kind: WorkloadKind, object: KubeObject): Workload {
    const workload = this.parse(kind, object);
    this.workloads.set(workloadKey(workload.ref), workload);
    this.verdicts.enter(workload);
    return workload;
  }

  parse(kind: WorkloadKind, object: KubeObject): Workload {
    return this.#parser.workload(kind, object).workload;
  }

  /** All objects of a kind; none where it is not served or may not be listed. */
  async list(resource: Resource, metadataOnly = false): Promise<readonly KubeObject[]> {
    const { client, namespace } = this.#options;
    const objects = await listAll(client, resource, { namespace }, metadataOnly);
    if (objects === undefined && (await isServed(client, resource))) this.forbidden.push(resource.plural);
    return objects ?? [];
  }

  /** Names, labels and annotations of all sources of these kinds: the rules need no more. */
  async readSources(kinds: readonly SourceKind[]): Promise<void> {
    for (const kind of kinds) {
      const resource = SOURCE_RESOURCES[kind];
      for (const object of await this.list(resource, true)) this.#note(kind, object, false);
      if (!this.forbidden.includes(resource.plural)) this.#listed.add(kind);
    }
  }

  /** What the classes hold, as the pods tell that mount them. */
  async readClasses(): Promise<void> {
    const classes = new Classes();
    for (const object of await this.list(SECRET_PROVIDER_CLASS_POD_STATUSES)) {
      const status = this.#parser.classStatus(object);
      const fingerprint = status && classes.listed(status);
      if (!status || !fingerprint) continue;
      const ref: SourceRef = { kind: 'SecretProviderClass', namespace: status.namespace, name: status.className };
      const known = this.sources.get(ref) ?? { ref, uid: '', ignored: false, matchable: false };
      this.sources.put({ ...known, resourceVersion: status.resourceVersion, fingerprint }, false);
      this.#facts.set(sourceKey(ref), { ...this.facts(ref), presence: 'present' });
    }
  }

  /** One source by its name: its fingerprint, and what listing has not told. */
  async readData(ref: SourceRef): Promise<void> {
    const { presence } = this.facts(ref);
    // What a class holds is told by the pods.
    const isClass = ref.kind === 'SecretProviderClass';
    if (presence === 'absent' || (isClass && presence === 'present')) return;
    try {
      this.#note(ref.kind, await this.#options.client.get(SOURCE_RESOURCES[ref.kind], ref), !isClass);
    } catch (error) {
      if (!KubeError.is(error, 'Forbidden', 'NotFound')) throw error;
      const found = error.reason === 'Forbidden' ? 'unreadable' : 'absent';
      this.#facts.set(sourceKey(ref), { ...this.facts(ref), presence: found });
    }
  }

  facts(ref: SourceRef): SourceFacts {
    const presence = this.hasListed(ref.kind) ? 'absent' : 'unreadable';
    return this.#facts.get(sourceKey(ref)) ?? { presence, labels: undefined, changedAt: undefined };
  }

  /** Whether all sources of this kind are known by name. */
  hasListed(kind: SourceKind): boolean {
    return this.#listed.has(kind);
  }

  /** By version, or by content; undefined if not all of it can be read. */
  configHash(listed: ListedSources, namespace: string, sapCompat: boolean): string | undefined {
    const isAbsent = (ref: SourceRef): boolean => this.facts(ref).presence === 'absent';
    const isRead = (ref: SourceRef): boolean => isAbsent(ref) || this.sources.get(ref)?.fingerprint !== undefined;
    if (!sapCompat && !listedRefs(listed, namespace).every(isRead)) return undefined;
    return createConfigHash({ sources: this.sources, sapCompat, mayStore: () => true, isAbsent }).certain(
      listed,
      namespace,
    );
  }

  /** What a workload uses or names, also where something else keeps it from being rolled for that. */
  concernsOf({ ref, intent }: Workload): readonly SourceRef[] {
    const named = namedIn(intent.asks).flatMap(({ kind, pattern: { literal: name } }): SourceId[] =>
      name === undefined ? [] : [sourceId({ kind, namespace: ref.namespace, name })],
    );
    return [...concernsOf(this.#known, ref, new Set(named))].filter(({ name }) => name !== '');
  }

  #note(kind: SourceKind, object: KubeObject, full: boolean): void {
    const { namespace = '', name, labels = {} } = object.metadata;
    const known = this.sources.get({ kind, namespace, name });
    const source = this.#parser.source(kind, object, full, known);
    // Who may read an object by its name need not have the right to list it.
    if (full && known) this.sources.fill(source);
    else this.sources.put(source, false);
    const changedAt = Date.parse(dataWrittenAt(object) ?? '');
    const facts = { presence: 'present', labels, changedAt: Number.isNaN(changedAt) ? undefined : changedAt } as const;
    this.#facts.set(sourceKey(source.ref), facts);
  }
}

/**
 * Whether the server has this kind at all: who has no right to one that does not exist is told the same as for one that
 * does. Every user who is known to the server may ask; where even that is refused, it is taken to exist.
 */
export async function isServed(client: KubeClient, { group, plural }: Resource): Promise<boolean> {
  try {
    return (await client.discover(group)).some((served) => served.plural === plural);
  } catch (error) {
    if (!KubeError.is(error, 'Forbidden')) throw error;
    return true;
  }
}
