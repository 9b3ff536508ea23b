import type { SourceRef } from '../api/sources.ts';
import type { ControllerOptions } from '../domain/controller-options.ts';
import { ABSENT, lifecycleOf, UNKNOWN } from '../domain/ledger/applied.ts';
import type { WorkloadKey } from '../domain/workload/workload.ts';
import { createConfigHash } from '../model/config-hash.ts';
import type { LedgerKey } from '../model/ledger/ledger-key.ts';
import { Listed } from '../model/listed.ts';
import { createObjectParser } from '../model/object-parser.ts';
import { ReloaderConfigs } from '../model/reloader-configs/reloader-configs.ts';
import { ReverseIndex } from '../model/reverse-index.ts';
import { type SourceChange, SourceHistory } from '../model/sources/source-history.ts';
import { KeyedQueue } from '../runtime/queue.ts';
import type { ControllerDeps } from './controller.ts';
import { askingIn, pendingIn } from './engine/census.ts';
import { Engine } from './engine/engine.ts';
import type { Readiness } from './follow/readiness.ts';
import { SourceReader } from './follow/source-reader.ts';
import { Watches } from './follow/watches.ts';
import { Checkpoint } from './ledger/checkpoint.ts';
import { noteOtherRecords } from './ledger/old-records.ts';

interface LiveModelDeps {
  readonly readiness: Readiness;
  /** Called when the model knows of it. */
  readonly sourceTouched: (ref: SourceRef, change: SourceChange) => void;
}

/** What is known of the cluster, kept up to date by watches. Reads the cluster, and writes nothing but the checkpoint. */
export function createLiveModel(
  deps: ControllerDeps & LiveModelDeps,
  ledgerKey: LedgerKey,
  sharedVersions: boolean,
  signal: AbortSignal,
) {
  const { options, client, clock, report, readiness, leadership } = deps;
  const sources = new SourceHistory();
  const index = new ReverseIndex();
  const configs = new ReloaderConfigs(options);
  const listed = new Listed();
  const namespaces = new Set<string>();
  const inScope = scopeOf(options, namespaces);
  const queue = new KeyedQueue<WorkloadKey>({ clock });
  const oldRecords = new KeyedQueue<WorkloadKey>({ clock });
  const parser = createObjectParser({ ...options, ...ledgerKey, oldRecord: (key) => oldRecords.add(key) });
  const watches = new Watches({ client, clock, signal, readiness, report: report.watches });
  const kept = { states: () => engine.states, heard: () => ({ seen: listed.seen(), told: listed.seenWorkloads() }) };
  const checkpoint: Checkpoint = new Checkpoint({
    ...{ client, clock, ...ledgerKey, ...kept, report: report.ledger },
    ...{ namespace: options.ownNamespace || undefined, catchUpMaxMs: options.catchUpMaxMs },
    mayWrite: () => leadership.mayWrite(),
    tooLarge: (workload, bytes) => report.tell({ is: 'partly-remembered', workload, bytes }),
  });
  const configHash = createConfigHash({
    ...{ sources, contentHash: options.sapCompat ? undefined : ledgerKey.contentHash },
    // What the selector leaves out may be there all the same.
    isAbsent: (ref) => options.resourceLabelSelector === undefined && listed.has(ref),
  });
  const engine: Engine = new Engine({
    ...{ clock, sources, index, configs, queue, checkpoint, report, inScope, listed },
    policy: options,
    configHash: configHash.certain,
    lifecycle: options,
    timing: options,
    keyId: ledgerKey.keyId,
    serverNow: () => client.serverNow(),
    sharedVersions: () => sharedVersions,
    want: (ref) => reader.want(ref),
  });
  let begun = false;
  const sourceSeen = (ref: SourceRef, change: SourceChange, version: number): void => {
    report.sourceSeen(change);
    if (deps.notify) {
      if (begun && inScope(ref.namespace) && isNotable(ref, change, options)) deps.notify();
      return;
    }
    if (begun && change.before !== change.after) void watches.refresh();
    engine.sourceChanged(ref, change, version);
    deps.sourceTouched(ref, change);
  };
  const reader: SourceReader = new SourceReader({
    ...{ client, clock, report: report.watches },
    isNeeded: (ref) => sources.current(ref) === UNKNOWN,
    read(ref, object) {
      if (!object) return;
      const source = parser.source(ref.kind, object, true, sources.get(ref));
      sourceSeen(ref, sources.fill(source), Number(source.resourceVersion));
    },
  });
  return {
    ...{ sources, index, configs, queue, oldRecords, parser, watches, namespaces, listed, inScope, checkpoint, engine },
    configHash: configHash.known,
    former: ledgerKey.former,
    reader,
    sourceSeen,
    begin(): void {
      begun = true;
      noteOtherRecords(engine.states, oldRecords, report.ledger);
      deps.metrics.beforeRender(() => fillGauges(deps, { engine, sources, reader }));
      const asking = deps.notify ? undefined : askingIn(engine, { index, sources, inScope, policy: options });
      const count = [...sources.counts().values()].reduce((sum, each) => sum + each, 0);
      report.watches.watching({ asking, sources: count });
    },
  };
}

export type LiveModel = ReturnType<typeof createLiveModel>;

/** Which namespaces count: all that are watched, or of these the ones that a selector has brought. */
function scopeOf({ scope }: ControllerOptions, selected: ReadonlySet<string>): (namespace: string) => boolean {
  const isSelective = scope.mode === 'global' && scope.selector !== undefined;
  return (namespace) => !isSelective || selected.has(namespace);
}

function fillGauges(deps: ControllerDeps, model: Pick<LiveModel, 'engine' | 'sources' | 'reader'>): void {
  const { metrics, leadership, options } = deps;
  const { engine, sources, reader } = model;
  const isLeader = leadership.mayWrite();
  // What waits on a standby, another brings.
  const { waiting, pending, undelivered } = pendingIn(isLeader ? engine.states.values() : [], options.keys);
  metrics.set('attune_unread_sources', {}, reader.pending);
  metrics.set('attune_leader', {}, isLeader ? 1 : 0);
  metrics.set('attune_pending_workloads', {}, pending);
  metrics.set('reloader_workqueue_depth', {}, waiting);
  metrics.set('attune_undelivered_changes', {}, undelivered);
  for (const [kind, count] of sources.counts()) metrics.set('attune_source_objects', { kind }, count);
}

/** What upstream posts: data that changed, and what came or went if that was asked for. */
function isNotable({ kind }: SourceRef, { before, after }: SourceChange, options: ControllerOptions): boolean {
  const { reloadOnCreate, reloadOnDelete } = lifecycleOf(kind, options);
  if (before === after) return false;
  if (before === ABSENT) return reloadOnCreate;
  return after !== ABSENT || reloadOnDelete;
}
