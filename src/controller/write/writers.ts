import { kindNamed, type WorkloadKind } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/objects.ts';
import type { SeenBy } from '../../domain/state/transitions.ts';
import type { WorkloadState } from '../../domain/state/workload-state.ts';
import { type Workload, workloadKey } from '../../domain/workload/workload.ts';
import type { LedgerKey } from '../../model/ledger/ledger-key.ts';
import type { ControllerDeps } from '../controller.ts';
import { ServerHistory } from '../engine/server-history.ts';
import type { LiveModel } from '../live-model.ts';
import { Evictions } from '../restart/evictions.ts';
import { createAct } from './act.ts';
import { createJobs } from './jobs.ts';
import { Pauses } from './pauses.ts';
import type { ReconcileDeps } from './reconcile.ts';
import { ReplacementJournal } from './replacement-journal.ts';
import { Replacements } from './replacements.ts';

// A conflict tells of a version that the watch will bring, and with it when that was. Only if the watch is broken we ask: what
// is found that way came at no certain moment, and a doubt about that is a rollout too many.
const WATCH_LAG_MS = 2000;
const DEPLOYMENTS = kindNamed('Deployment') as WorkloadKind;

/** What writes to workloads. */
export function createWriters(deps: ControllerDeps, model: LiveModel, ledgerKey: LedgerKey, signal: AbortSignal) {
  const { options, client, clock, report } = deps;
  const { engine, parser, queue } = model;
  const parse = (kind: WorkloadKind, object: KubeObject): Workload => parser.workload(kind, object).workload;
  const seen = (workload: Workload, by: SeenBy): void => {
    engine.workloadSeen(workload, by);
    pauses.seen(workload);
  };
  const common = {
    ...deps,
    ...model,
    ...ledgerKey,
    policy: options,
    lifecycle: options,
    timing: options,
    keys: options.keys,
    parse,
    shorten: (text: string): string => ledgerKey.digest.text(text),
    mayWrite: (): boolean => deps.leadership.mayWrite(),
    serverNow: () => client.serverNow(),
  };
  const pauses: Pauses = new Pauses({
    ...common,
    removesMarks: (namespace) => !options.compat && model.inScope(namespace),
    workload: (key) => engine.states.get(key)?.workload,
    // The template in the answer is whoever wrote it last: a pause that ends changes none. And as any answer it may come after
    // the news that the object is gone, and brings nobody back.
    seen: (object) => {
      const workload = parse(DEPLOYMENTS, object);
      if (engine.states.get(workloadKey(workload.ref))?.workload.uid === workload.uid) seen(workload, 'watch');
    },
  });
  const replacements = new Replacements({
    ...common,
    signal,
    journal: new ReplacementJournal({
      client,
      namespace: options.ownNamespace || undefined,
      unsafe: (error) => report.ledger.unsafeJobs(error),
      noRoom: (ref, error) => report.ledger.unsafeJob(ref, error),
    }),
    stuck: (ref, error) => report.system.stuckJob(ref, error),
    resumed: (ref) => queue.add(workloadKey(ref)),
  });
  const evictions = new Evictions(common);
  const catchUp = async (state: WorkloadState): Promise<void> => {
    const { ref, resourceVersion } = state.workload;
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const callOff = clock.after(WATCH_LAG_MS, resolve);
    await Promise.race([engine.nextVersions.of(state).then(callOff), late]);
    const kind = kindNamed(ref.kind);
    if (!kind || state.workload.resourceVersion !== resourceVersion) return;
    const object = await client.get<KubeObject>(kind, ref);
    if (engine.states.get(workloadKey(ref)) === state) engine.workloadSeen(parse(kind, object), 'list');
  };
  const history = new ServerHistory(common);
  const reconcileDeps: ReconcileDeps = {
    ...common,
    catchUp,
    evictions,
    act: createAct({
      ...{ ...common, jobs: createJobs(common), replacements, evictions },
      seen: (workload) => seen(workload, 'write'),
    }),
    isUnderWay: ({ workload }) => replacements.isUnderWay(workload.uid),
    isDelivered: (state, { ref, difference }) =>
      difference === 'deleted' ? Promise.resolve(false) : history.isNewer(state, ref),
    fresh: ({ workload: { ref } }) => model.watches.refresh(kindNamed(ref.kind)?.plural),
  };
  return { model, pauses, replacements, evictions, reconcileDeps };
}

export type Writers = ReturnType<typeof createWriters>;
