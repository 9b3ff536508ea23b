import { kindNamed, type WorkloadKind } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/objects.ts';
import { type Workload, type WorkloadRef, workloadKey } from '../../domain/workload/workload.ts';
import type { Installation } from '../../model/ledger/installation-key.ts';
import type { WorkloadState } from '../../model/workload-state.ts';
import type { ControllerDeps } from '../controller.ts';
import type { Core } from '../core.ts';
import { History } from '../engine/server-history.ts';
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
  core: Core,
  { digest, keyId, mayStore }: Installation,
  signal: AbortSignal,
) {
  const { options, client, clock, report, leadership } = deps;
  const { engine, parser, checkpoint, queue, sources, watches } = core;
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
    removesMarks: (namespace) => !options.compat && core.inScope(namespace),
    keys: options.keys,
    fieldManager: FIELD_MANAGER,
    workload: (key) => engine.states.get(key)?.workload,
    seen: (object) => seen(parser.workload(DEPLOYMENTS, object).workload),
  });
  const jobs = createJobs({ client, shorten, fieldManager: FIELD_MANAGER });
  const replacements = createReplacements(deps, signal, (ref) => queue.add(workloadKey(ref)));
  const act = createAct({
    client,
    keyId,
    mayStore,
    shorten,
    jobs,
    replacements,
    seen,
    policy: options,
    strategy: options.reloadStrategy,
    seenUpTo: () => engine.seen,
    foundRun: (job) => engine.runSeen(job, undefined),
    ran: (state, version) => engine.ran(state, version),
    parse,
    touch: (state) => checkpoint.touch(workloadKey(state.workload.ref)),
  });
  const catchUp = async (state: WorkloadState): Promise<void> => {
    const { ref, resourceVersion } = state.workload;
    await new Promise<void>((resolve) => {
      const callOff = clock.after(WATCH_LAG_MS, resolve);
      state.waiters.push(callOff, resolve);
    });
    const kind = kindNamed(ref.kind);
    if (!kind || state.workload.resourceVersion !== resourceVersion) return;
    const object = await client.get<KubeObject>(kind, ref);
    if (engine.states.get(workloadKey(ref)) === state) engine.workloadSeen(parse(kind, object), 'list');
  };
  const history = new History({ client, sources, parse });
  const reconcileDeps: ReconcileDeps = {
    engine,
    act,
    sources,
    clock,
    mayWrite,
    queue,
    catchUp,
    report,
    isUnderWay: ({ workload }) => replacements.isUnderWay(workload.uid),
    lifecycle: options,
    isDelivered: (state, { ref, difference }) =>
      difference === 'changed' ? history.isNewer(state, ref) : Promise.resolve(false),
    fresh: ({ workload: { ref } }) => watches.refresh(kindNamed(ref.kind)?.plural),
  };
  return { core, pauses, replacements, reconcileDeps };
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
    journal: new ReplacementJournal({ client, namespace, unsafe: (error) => report.unsafeJobs(error) }),
    fieldManager: FIELD_MANAGER,
    stuck: (ref, error) => report.stuckJob(ref, error),
  });
}

export type Writers = ReturnType<typeof createWriters>;
