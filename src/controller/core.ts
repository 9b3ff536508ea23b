import type { SourceRef } from '../api/sources.ts';
import { ABSENT, type Lifecycle, lifecycleOf, UNKNOWN } from '../domain/ledger/applied.ts';
import type { WorkloadKey } from '../domain/workload/workload.ts';
import type { Known } from '../model/concerns.ts';
import type { LedgerKey } from '../model/ledger/ledger-key.ts';
import { Listed } from '../model/listed.ts';
import { createObjectParser, type ObjectParser } from '../model/object-parser.ts';
import { ReverseIndex } from '../model/reverse-index.ts';
import { type SourceChange, SourceHistory } from '../model/sources/source-history.ts';
import { KeyedQueue } from '../runtime/queue.ts';
import type { ControllerDeps } from './controller.ts';
import { askingIn, pendingIn } from './engine/census.ts';
import { Engine } from './engine/engine.ts';
import type { Access } from './follow/access.ts';
import { SourceReader } from './follow/source-reader.ts';
import { Watches } from './follow/watches.ts';
import { Checkpoint } from './ledger/checkpoint.ts';
import type { ControllerOptions } from './options.ts';

/** What is known and how it becomes known. Reads the cluster, writes nothing but the checkpoint. */
export function createCore(
  deps: ControllerDeps & { readonly access: Access },
  ledgerKey: LedgerKey,
  sharedVersions: boolean,
  signal: AbortSignal,
) {
  const { options, client, clock, report, access } = deps;
  const { digest, keyId, former } = ledgerKey;
  const sources = new SourceHistory();
  const index = new ReverseIndex();
  const queue = new KeyedQueue<WorkloadKey>({ clock });
  const oldRecords = new KeyedQueue<WorkloadKey>({ clock });
  const parser = createObjectParser({ ...options, digest, former, oldRecord: (key) => oldRecords.add(key) });
  const watches = new Watches({ client, clock, signal, access, report: report.watches });
  const namespaces = new Set<string>();
  const inScope = scopeCheck(options, namespaces);
  const listed = new Listed();
  const checkpoint: Checkpoint = createCheckpoint(deps, ledgerKey, listed, () => engine.states);
  const engine: Engine = new Engine({
    policy: options,
    lifecycle: options,
    timing: options,
    keyId,
    clock,
    serverNow: () => client.serverNow(),
    sources,
    index,
    queue,
    checkpoint,
    report,
    sharedVersions: () => sharedVersions,
    inScope,
    listed,
    want: (ref) => reader.want(ref),
  });
  let begun = false;
  /** A source's data may have moved. */
  const turned = (ref: SourceRef, turn: SourceChange, version: number): void => {
    report.sourceSeen(turn);
    if (deps.notify) {
      const lifecycle = lifecycleOf(ref.kind, options);
      if (begun && inScope(ref.namespace) && isNotable(lifecycle, turn)) deps.notify();
      return;
    }
    if (begun && turn.before !== turn.after) void watches.refresh();
    engine.sourceChanged(ref, turn, version);
  };
  const reader: SourceReader = createReader(deps, { parser, sources, turned });
  const begin = (): void => {
    begun = true;
    deps.metrics.beforeRender(() => fillGauges(deps, engine, sources, reader));
    tellWatched(deps, engine, { index, sources, inScope });
  };
  return {
    sources,
    queue,
    former,
    oldRecords,
    parser,
    watches,
    namespaces,
    listed,
    inScope,
    checkpoint,
    engine,
    reader,
    turned,
    begin,
    namespaceChanged: (name: string, version: number): void => engine.namespaceChanged(name, version),
    sharedVersions: () => sharedVersions,
  };
}

function createCheckpoint(
  { options, client, clock, report, leadership }: ControllerDeps,
  { keyId, former, mayStore }: LedgerKey,
  listed: Listed,
  states: () => Engine['states'],
): Checkpoint {
  return new Checkpoint({
    client,
    clock,
    report: report.ledger,
    keyId,
    former,
    mayStore,
    states,
    heard: () => ({ seen: listed.seen(), told: listed.seenWorkloads() }),
    namespace: options.ownNamespace || undefined,
    catchUpMaxMs: options.catchUpMaxMs,
    mayWrite: () => leadership.mayWrite(),
  });
}

export type Core = ReturnType<typeof createCore>;

function createReader(
  { client, clock, report }: ControllerDeps,
  {
    parser,
    sources,
    turned,
  }: {
    parser: ObjectParser;
    sources: SourceHistory;
    turned: (ref: SourceRef, turn: SourceChange, version: number) => void;
  },
): SourceReader {
  return new SourceReader({
    client,
    clock,
    read(ref, object) {
      if (!object) return;
      const source = parser.source(ref.kind, object, true, sources.get(ref));
      turned(ref, sources.fill(source), Number(source.resourceVersion));
    },
    isNeeded: (ref) => sources.current(ref) === UNKNOWN,
    report: report.watches,
  });
}

function tellWatched({ notify, options, report }: ControllerDeps, engine: Engine, known: Known): void {
  const asking = notify ? undefined : askingIn(engine, { ...known, policy: options });
  let sources = 0;
  for (const count of known.sources.counts().values()) sources += count;
  report.watches.watching({ asking, sources });
}

function fillGauges(
  { metrics, leadership, options }: ControllerDeps,
  { states }: Engine,
  sources: SourceHistory,
  reader: SourceReader,
): void {
  const isLeader = leadership.mayWrite();
  // What waits on a standby, another brings.
  const { waiting, pending, undelivered } = pendingIn(isLeader ? states.values() : [], options.keys);
  metrics.set('attune_unread_sources', {}, reader.pending);
  metrics.set('attune_leader', {}, isLeader ? 1 : 0);
  metrics.set('attune_pending_workloads', {}, pending);
  metrics.set('reloader_workqueue_depth', {}, waiting);
  metrics.set('attune_undelivered_changes', {}, undelivered);
  for (const [kind, count] of sources.counts()) metrics.set('attune_source_objects', { kind }, count);
}

function scopeCheck({ scope }: ControllerOptions, namespaces: ReadonlySet<string>): (name: string) => boolean {
  if (scope.mode === 'namespaces' || scope.selector === undefined) return () => true;
  return (name) => namespaces.has(name);
}

/** What upstream posts: data that changed, and what came or went if that was asked for. */
function isNotable(options: Lifecycle, { before, after }: SourceChange): boolean {
  if (before === after) return false;
  if (before === ABSENT) return options.reloadOnCreate;
  return after !== ABSENT || options.reloadOnDelete;
}
