import type { WorkloadKind } from '../api/kinds.ts';
import type { KubeObject } from '../api/objects.ts';
import { type Resource, SECRET_PROVIDER_CLASS_POD_STATUSES, SOURCE_RESOURCES } from '../api/resources.ts';
import { type SourceKey, type SourceKind, type SourceRef, sourceKey } from '../api/sources.ts';
import type { Ask } from '../domain/asks/ask.ts';
import { type ListedSources, listedRefs } from '../domain/config-hash/config-hash.ts';
import type { Policy } from '../domain/judge/verdict.ts';
import { sourceId } from '../domain/ledger/source-id.ts';
import { NO_LABELS, type SourceFlags } from '../domain/source/source.ts';
import { matches } from '../domain/text/selector.ts';
import { type Workload, type WorkloadKey, workloadKey } from '../domain/workload/workload.ts';
import type { KubeClient } from '../kube/client.ts';
import { KubeError } from '../kube/kube-error.ts';
import { concernsOf, type Known } from './concerns.ts';
import { createConfigHash } from './config-hash.ts';
import type { LedgerKey } from './ledger/ledger-key.ts';
import { isServed, listAll } from './list-all.ts';
import { createObjectParser, dataWrittenAt, type ObjectParser } from './object-parser.ts';
import { ReloaderConfigs, type ReloaderConfigsOptions } from './reloader-configs/reloader-configs.ts';
import { type PatternInterest, ReverseIndex } from './reverse-index.ts';
import { Classes } from './sources/provider-classes.ts';
import { SourceHistory } from './sources/source-history.ts';
import { Verdicts } from './verdicts.ts';

export interface SnapshotOptions {
  readonly client: KubeClient;
  /** Undefined: all namespaces. */
  readonly namespace: string | undefined;
  readonly policy: Policy;
  readonly configs: ReloaderConfigsOptions;
  /** Marks are right with any key; exact fingerprints only with that of the ledger. */
  readonly key: Pick<LedgerKey, 'digest' | 'former' | 'contentHash'>;
}

/** What is known of a source beyond what the rules read. */
export interface SourceFacts {
  /** `unreadable`: this user may not read it, or it was not looked for yet. */
  readonly presence: 'present' | 'absent' | 'unreadable';
  readonly labels: Readonly<Record<string, string>> | undefined;
  /** When its data was last written, in milliseconds; the server keeps seconds. */
  readonly changedAt: number | undefined;
}

/** A kind that may not be listed, and where; undefined: anywhere. */
export interface Unlisted {
  readonly plural: string;
  readonly namespace: string | undefined;
}

/** The model of one namespace, or of all, filled by listing once instead of following: for those who only answer a question. */
export class Snapshot {
  readonly sources = new SourceHistory();
  readonly index = new ReverseIndex();
  readonly configs: ReloaderConfigs;
  readonly workloads = new Map<WorkloadKey, Workload>();
  readonly verdicts: Verdicts;
  readonly forbidden: Unlisted[] = [];
  readonly #options: SnapshotOptions;
  readonly #parser: ObjectParser;
  readonly #known: Known;
  readonly #facts = new Map<SourceKey, SourceFacts>();
  /** Kinds of sources, with the namespace of which all were listed; without one: of all. */
  readonly #listed = new Set<string>();

  constructor(options: SnapshotOptions) {
    const { policy, key } = options;
    this.#options = options;
    this.configs = new ReloaderConfigs(options.configs);
    this.#parser = createObjectParser({ ...policy, ...key });
    this.#known = { index: this.index, sources: this.sources, inScope: () => true };
    this.verdicts = new Verdicts({
      ...this.#known,
      policy,
      configs: this.configs,
      workload: (of) => this.workloads.get(of),
    });
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
  async list(
    resource: Resource,
    metadataOnly = false,
    namespace = this.#options.namespace,
  ): Promise<readonly KubeObject[]> {
    const { client } = this.#options;
    const objects = await listAll(client, resource, { namespace }, metadataOnly);
    if (objects === undefined && (await isServed(client, resource))) {
      this.forbidden.push({ plural: resource.plural, namespace });
    }
    return objects ?? [];
  }

  /** Names, labels and annotations of all sources of these kinds: the rules need no more. */
  async readSources(kinds: readonly SourceKind[], namespace = this.#options.namespace): Promise<void> {
    for (const kind of kinds) {
      const resource = SOURCE_RESOURCES[kind];
      for (const object of await this.list(resource, true, namespace)) this.#note(kind, object, false);
      const isUnread = this.forbidden.some((each) => each.plural === resource.plural && each.namespace === namespace);
      if (!isUnread) this.#listed.add(placeOf(kind, namespace));
    }
  }

  /** The sources of other namespaces that a workload is asked to be reloaded for. */
  async readForeignSources(workload: Workload): Promise<void> {
    for (const { wants } of this.verdicts.asking(workload).intent.asks) {
      if (wants.what !== 'named' && wants.what !== 'selected') continue;
      for (const namespace of wants.namespaces ?? []) {
        if (namespace !== workload.ref.namespace && !this.#listed.has(placeOf(wants.kind, namespace))) {
          await this.readSources([wants.kind], namespace);
        }
      }
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
      const known = this.sources.get(ref) ?? { ref, uid: '', ignored: false, matchable: false, labels: NO_LABELS };
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
    const presence = this.hasListed(ref.kind, ref.namespace) ? 'absent' : 'unreadable';
    return this.#facts.get(sourceKey(ref)) ?? { presence, labels: undefined, changedAt: undefined };
  }

  /** Whether all sources of this kind and namespace are known by name. */
  hasListed(kind: SourceKind, namespace: string): boolean {
    return this.#listed.has(placeOf(kind, namespace)) || this.#listed.has(placeOf(kind, undefined));
  }

  /** By version, or by content; undefined if not all of it can be read. */
  configHash(listed: ListedSources, namespace: string, sapCompat: boolean): string | undefined {
    const isAbsent = (ref: SourceRef): boolean => this.facts(ref).presence === 'absent';
    const isRead = (ref: SourceRef): boolean => isAbsent(ref) || this.sources.get(ref)?.fingerprint !== undefined;
    if (!sapCompat && !listedRefs(listed, namespace).every(isRead)) return undefined;
    const contentHash = sapCompat ? undefined : this.#options.key.contentHash;
    return createConfigHash({ sources: this.sources, contentHash, isAbsent }).certain(listed, namespace);
  }

  /** What a workload uses, names or selects, also where something else keeps it from being rolled for that. */
  concernsOf(workload: Workload): readonly SourceRef[] {
    const asking = this.verdicts.asking(workload);
    const named = asking.intent.asks.flatMap((ask) => namedBy(ask, workload));
    const ids = named.map((source) => sourceId(source, workload.ref.namespace));
    const found = [...concernsOf(this.#known, workload.ref, new Set(ids))];
    return found.filter(
      (source) => source.name !== '' && this.isConcerned(workload, source) && !this.#isMissedByNobody(asking, source),
    );
  }

  /** A name counts in all namespaces that a ReloaderConfig selects, and is expected in its own only. */
  #isMissedByNobody(asking: Workload, source: SourceRef): boolean {
    const { ref, references, intent } = asking;
    if (this.facts(source).presence !== 'absent') return false;
    const isUsed = references.some(({ kind, name }) => kind === source.kind && name === source.name);
    if (isUsed && source.namespace === ref.namespace) return false;
    const naming = intent.asks.filter((ask) => namedBy(ask, asking).some((each) => isSame(each, source)));
    const isExpected = ({ origin }: Ask): boolean =>
      source.namespace === (origin.by === 'config' ? origin.namespace : ref.namespace);
    return naming.length > 0 && !naming.some(isExpected);
  }

  /** Who selects by labels hears of every source in a namespace: those with other labels are none of its concern. */
  isConcerned(workload: Workload, source: SourceRef): boolean {
    const asking = this.verdicts.asking(workload);
    const { literal, patterns } = this.index.interestOf(workloadKey(workload.ref));
    const isNamed = ({ kind, namespace, pattern }: PatternInterest): boolean =>
      kind === source.kind && namespace === source.namespace && pattern?.matches(source.name) === true;
    return (
      literal.some((each) => isSame(each, source)) ||
      asking.intent.asks.some((ask) => namedBy(ask, workload).some((each) => isSame(each, source))) ||
      patterns.some(isNamed) ||
      asking.intent.asks.some((ask) => selects(ask, source, this.sources.flags(source).labels)) ||
      this.verdicts.of(workload, source).reload
    );
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

const placeOf = (kind: SourceKind, namespace: string | undefined): string => `${kind}/${namespace ?? ''}`;

const isSame = (one: SourceRef, other: SourceRef): boolean => sourceKey(one) === sourceKey(other);

/** The sources that somebody asks for by their very name. */
function namedBy({ wants }: Ask, { ref }: Workload): readonly SourceRef[] {
  if (wants.what !== 'named') return [];
  const { kind, namespaces = [ref.namespace], patterns } = wants;
  const names = patterns.flatMap(({ literal }) => literal ?? []);
  return namespaces.flatMap((namespace) => names.map((name) => ({ kind, namespace, name })));
}

const selects = ({ wants }: Ask, { kind, namespace }: SourceRef, labels: SourceFlags['labels']): boolean =>
  wants.what === 'selected' &&
  wants.kind === kind &&
  wants.namespaces.includes(namespace) &&
  matches(wants.selector, labels);
