import { kindNamed, type WorkloadKind } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/objects.ts';
import type { WorkloadState } from '../../domain/state/workload-state.ts';
import { type Workload, type WorkloadRef, workloadKey } from '../../domain/workload/workload.ts';
import type { LedgerKey } from '../../model/ledger/ledger-key.ts';
import type { ControllerDeps } from '../controller.ts';
import { ServerHistory } from '../engine/server-history.ts';
import type { LiveModel } from '../live-model.ts';
import { createAct, FIELD_MANAGER } from './act.ts';
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
export function createWriters(
  deps: ControllerDeps,
  model: LiveModel,
  { digest, keyId, mayStore }: LedgerKey,
  signal: AbortSignal,
) {
  const { options, client, clock, report, leadership } = deps;
  const { engine, parser, queue, sources, watches } = model;
  const mayWrite = (): boolean => leadership.mayWrite();
  const parse = (kind: WorkloadKind, object: KubeObject): Workload => parser.workload(kind, object).workload;
  const shorten = (text: string): string => digest.text(text);
  const seen = (workload: Workload): void => {
    engine.workloadSeen(workload, 'write');
    pauses.seen(workload);
  };
  const pauses: Pauses = new Pauses({
    client,
    clock,
    report,
    mayWrite,
    removesMarks: (namespace) => !options.compat && model.inScope(namespace),
    keys: options.keys,
    fieldManager: FIELD_MANAGER,
    workload: (key) => engine.states.get(key)?.workload,
    seen: (object) => seen(parser.workload(DEPLOYMENTS, object).workload),
  });
  const jobs = createJobs({ client, shorten, fieldManager: FIELD_MANAGER });
  const replacements = createReplacements(deps, signal, (ref) => queue.add(workloadKey(ref)));
  const act = createAct({ client, engine, keyId, mayStore, shorten, jobs, replacements, seen, policy: options, parse });
  const catchUp = async (state: WorkloadState): Promise<void> => {
    const { ref, resourceVersion } = state.workload;
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const callOff = clock.after(WATCH_LAG_MS, resolve);
    await Promise.race([engine.nextVersion(state).then(callOff), late]);
    const kind = kindNamed(ref.kind);
    if (!kind || state.workload.resourceVersion !== resourceVersion) return;
    const object = await client.get<KubeObject>(kind, ref);
    if (engine.states.get(workloadKey(ref)) === state) engine.workloadSeen(parse(kind, object), 'list');
  };
  const history = new ServerHistory({ client, sources, parse });
  const reconcileDeps: ReconcileDeps = {
    engine,
    act,
    sources,
    clock,
    mayWrite,
    queue,
    catchUp,
    report,
    shorten,
    policy: options,
    lifecycle: options,
    timing: options,
    keys: options.keys,
    serverNow: () => client.serverNow(),
    isUnderWay: ({ workload }) => replacements.isUnderWay(workload.uid),
    isDelivered: (state, { ref, difference }) =>
      difference === 'changed' ? history.isNewer(state, ref) : Promise.resolve(false),
    fresh: ({ workload: { ref } }) => watches.refresh(kindNamed(ref.kind)?.plural),
  };
  return { model, pauses, replacements, reconcileDeps };
}

function createReplacements(
  { options, client, clock, report }: ControllerDeps,
  signal: AbortSignal,
  resumed: (ref: WorkloadRef) => void,
): Replacements {
  const namespace = options.ownNamespace || undefined;
  return new Replacements({
    client,
    clock,
    signal,
    resumed,
    journal: new ReplacementJournal({ client, namespace, unsafe: (error) => report.ledger.unsafeJobs(error) }),
    fieldManager: FIELD_MANAGER,
    stuck: (ref, error) => report.system.stuckJob(ref, error),
  });
}

export type Writers = ReturnType<typeof createWriters>;
