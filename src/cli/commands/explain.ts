import { kindNamed, type WorkloadKind } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/objects.ts';
import type { SourceKind, SourceRef } from '../../api/sources.ts';
import { nearest } from '../../config/nearest.ts';
import type { WorkloadState } from '../../controller/workload-state.ts';
import { pauseStep } from '../../domain/pause.ts';
import { timingOf } from '../../domain/plan.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { CLUSTER_USAGE, type Cluster, runClusterCommand } from '../cluster-command.ts';
import { explain } from '../explanation.ts';
import type { Io } from '../io.ts';
import { beginJudging, type Judging } from '../judging.ts';
import { sourceTarget, type Target, workloadTarget } from '../kind-words.ts';
import { OWN_FLAGS } from '../own-flags.ts';
import type { Request } from '../request.ts';
import { blindTo, blindToSource } from '../sight.ts';
import { isUndelivered, lastWriteOf, newestOf, reloaderEvents } from '../traces.ts';
import { explanationText, type WorkloadReport } from './explain-text.ts';

const USAGE = `attune explain KIND/NAME [--source KIND/NAME] [-o json] [flags of the controller]

Tells for each source that a workload uses or names: whether a change rolls it, by which rule, where the mark goes, what
it runs with, and what waits. For a no: the first rule that said no, and the one line that would make it a yes.
Reads only. Judges by the flags given, else by those of the Attune in the cluster.

  attune explain deployment/web -n shop
  attune explain sts/db -n shop --source secret/db-password
  attune explain deploy/web --auto-reload-all --reload-strategy=annotations

  --source KIND/NAME          only this one, also if the workload has nothing to do with it
  -o, --output json           for programs
${CLUSTER_USAGE}`;

interface Wanted extends Target<WorkloadKind> {
  readonly source: Target<SourceKind> | undefined;
  readonly json: boolean;
}

/** `attune explain`: why a workload rolls for a source, or does not. */
export const runExplain = (argv: readonly string[], io: Io): Promise<number> =>
  runClusterCommand(
    {
      name: 'explain',
      usage: USAGE,
      flags: OWN_FLAGS.explain,
      read: readWanted,
      run: explainOne,
    },
    argv,
    io,
  );

function readWanted({ operands, own }: Request): Wanted | string {
  const target = workloadTarget(operands);
  if (typeof target === 'string') return target;
  const output = own.get('output');
  if (output !== undefined && output !== 'json') return `-o knows json, not ${output}`;
  const named = own.get('source');
  const source = named === undefined ? undefined : sourceTarget([named]);
  return typeof source === 'string' ? source : { ...target, source, json: output === 'json' };
}

async function explainOne(wanted: Wanted, cluster: Cluster): Promise<number> {
  const { io, page } = cluster;
  const object = await find(cluster, wanted);
  const judging = await beginJudging(cluster);
  const subject = await enterSubject(cluster, judging, wanted.kind, object);
  const report = await reportOn(subject, judging, wanted.source, cluster);
  io.stdout(wanted.json ? `${JSON.stringify(report, null, 2)}\n` : explanationText(report, page, judging.nowMs));
  return 0;
}

/** A name that does not exist is usually a slip: say what there is. */
async function find({ client, namespace }: Cluster, { kind, name }: Target<WorkloadKind>): Promise<KubeObject> {
  try {
    return await client.get(kind, { namespace, name });
  } catch (error) {
    if (!KubeError.is(error, 'NotFound')) throw error;
  }
  const names: string[] = [];
  try {
    for await (const page of client.list(kind, { namespace }, { metadataOnly: true })) {
      names.push(...page.items.map(({ metadata }) => metadata.name));
    }
  } catch (error) {
    if (KubeError.is(error, 'NotFound'))
      throw new Error(`this cluster has no ${kind.plural}.${kind.group}`, { cause: error });
    throw error;
  }
  throw new Error(`there is no ${kind.kind} ${namespace}/${name}${alternatives(name, names, kind)}`);
}

const MAX_NAMES = 10;

function alternatives(name: string, names: readonly string[], { plural }: WorkloadKind): string {
  if (names.length === 0) return `, and the namespace has no ${plural}`;
  const guess = nearest(name, names);
  const shown = names.slice(0, MAX_NAMES).join(', ');
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : '';
  return `${guess ? `, did you mean ${guess}?` : ''}\nthe ${plural} there: ${shown}${more}`;
}

interface Subject {
  readonly kind: WorkloadKind;
  readonly object: KubeObject;
  readonly state: WorkloadState;
  readonly notes: readonly string[];
}

/** A Rollout may borrow the template of a Deployment: then that is where a change goes, whoever asks for it. */
async function enterSubject(
  cluster: Cluster,
  { view, settings }: Judging,
  kind: WorkloadKind,
  object: KubeObject,
): Promise<Subject> {
  const state = view.enter(kind, object);
  const borrowed = state.workload.workloadRef;
  const deployments = kindNamed('Deployment');
  if (borrowed?.kind === 'Deployment' && !settings.compat && deployments) {
    const owner = await find(cluster, { kind: deployments, name: borrowed.name });
    const notes = [`Rollout ${object.metadata.name} borrows this template; a change is written here, once`];
    return { kind: deployments, object: owner, state: view.enter(deployments, owner), notes };
  }
  const rollouts = kindNamed('Rollout');
  if (kind.kind === 'Deployment' && settings.isArgoRollouts && rollouts) {
    for (const rollout of await view.list(rollouts)) view.enter(rollouts, rollout);
  }
  return { kind, object, state, notes: [] };
}

async function reportOn(
  { object, state, notes }: Subject,
  judging: Judging,
  source: Target<SourceKind> | undefined,
  { client, namespace }: Cluster,
): Promise<WorkloadReport> {
  const { view, settings, ledger, labels, nowMs } = judging;
  const { workload } = state;
  const refs: readonly SourceRef[] = source ? [{ ...source, namespace }] : view.concerns(state);
  for (const ref of refs) await view.readData(ref);
  const events = await reloaderEvents(client, object);
  const blindness = blindTo(workload.ref, labels, settings);
  const sources = refs.map((ref) => {
    const found = explain(workload, ref, blindness ?? blindToSource(ref, view.facts(ref).labels, settings), judging);
    const isLost = found.rolls && found.mark?.found !== 'current' && isUndelivered(events, ref);
    return isLost ? { ...found, state: { ...found.state, is: 'undelivered' as const } } : found;
  });
  const pausedAt = workload.annotations[settings.keys.pausedAt];
  const pause = pauseStep({ paused: workload.paused, pausedAt, periodMs: workload.intent.pausePeriodMs }, nowMs);
  return {
    workload: workload.ref,
    judgedBy: judging.by,
    mode: settings.compat ? 'stakater' : 'default',
    strategy: settings.reloadStrategy,
    timing: timingOf(workload.intent, settings),
    lastWrite: lastWriteOf(object),
    paused: workload.paused ? { byReloader: pausedAt !== undefined, step: pause } : undefined,
    problems: workload.intent.problems.map(({ path, message }) => `${path} ${message}`),
    notes: [...notes, ...view.unread, ...ledger.notes],
    sources,
    events: newestOf(events),
  };
}
