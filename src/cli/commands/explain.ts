import { kindNamed, type WorkloadKind } from '../../api/kinds.ts';
import type { Resource } from '../../api/resources.ts';
import { type SourceKind, type SourceRef, sourceKey } from '../../api/sources.ts';
import { listedRefs } from '../../domain/config-hash/config-hash.ts';
import { pauseStep } from '../../domain/plan/pause.ts';
import { timingOf } from '../../domain/plan/timing.ts';
import type { KeptReloads } from '../../domain/state/own-reloads.ts';
import { formatTime } from '../../domain/text/rfc3339.ts';
import { notWatchedBecause } from '../../domain/watch-scope.ts';
import { annotationProblems } from '../cluster/annotation-problems.ts';
import { CLUSTER_USAGE, type Cluster, clusterCommand } from '../cluster/cluster-command.ts';
import { type Found, findObject, findWorkload } from '../cluster/find-workload.ts';
import { sourceTarget, type Target, workloadTarget } from '../cluster/kind-words.ts';
import { explanationText, type WorkloadReport } from '../explain/explain-text.ts';
import { explain } from '../explain/explanation.ts';
import { beginJudging, type Judging, sourceUnseenBecause } from '../explain/judging.ts';
import { configsNaming, cooldownOf } from '../explain/naming-configs.ts';
import { podsOf } from '../explain/pods.ts';
import { isUndelivered, lastWriteOf, newestOf, reloaderEvents } from '../explain/reloader-events.ts';
import type { Subject } from '../explain/standing.ts';
import type { Request } from '../request.ts';
import { printReport } from '../terminal/print-report.ts';

const USAGE = `attune explain KIND/NAME [--source KIND/NAME] [-o json] [flags of the controller]

Tells for each source that a workload uses or names: whether a change rolls it, by which rule, where the mark goes, what
it runs with, and what waits. For a no: the first rule that said no, and all that would make it a yes, line by line.
Of a pod it finds the workload. Reads only. Judges by the flags given, else by those of the Attune in the cluster.

  attune explain deployment/web -n shop
  attune explain sts/db -n shop --source secret/db-password
  attune explain pod/web-6d4cf56db6-x2x7q -n shop
  attune explain deploy/web --auto-reload-all --reload-strategy=annotations

  --source KIND/NAME          only this one, also if the workload has nothing to do with it
  -o, --output json           for programs
${CLUSTER_USAGE}`;

type Wanted = Target<Resource> & { readonly source: Target<SourceKind> | undefined; readonly json: boolean };

/** `attune explain`: why a workload rolls for a source, or does not. */
export const run = clusterCommand({ name: 'explain', usage: USAGE, read: readWanted, run: explainOne });

function readWanted(request: Request): Wanted | string {
  const { operands, own } = request;
  const asked = sourceTarget(operands);
  if (typeof asked !== 'string') return impactInstead(asked, request);
  const target = workloadTarget(operands);
  if (typeof target === 'string') return target;
  const output = own.get('output');
  if (output !== undefined && output !== 'json') return `-o knows json, not ${output}`;
  const named = own.get('source');
  const source = named === undefined ? undefined : sourceTarget([named]);
  return typeof source === 'string' ? source : { ...target, source, json: output === 'json' };
}

/** Who asks about a source wants the other command; what else was said is said to that one too. */
function impactInstead({ kind, name }: Target<SourceKind>, { own, controller }: Request): string {
  const flags = [...own]
    .filter(([flag]) => flag !== 'source')
    .map(([flag, value]) => (flag === 'namespace' ? `-n ${value}` : `--${flag}=${value}`));
  const command = ['attune impact', `${kind.toLowerCase()}/${name}`, ...flags].join(' ');
  const rest = controller.length > 0 ? ', with the same flags of the controller' : '';
  return `a ${kind} is not rolled; which workloads it rolls is told by: ${command}${rest}`;
}

async function explainOne(wanted: Wanted, cluster: Cluster): Promise<number> {
  const { io, page } = cluster;
  const found = await findWorkload(cluster, wanted);
  const judging = await beginJudging(cluster);
  const subject = await enter(cluster, judging, found);
  const report = await reportOn(subject, judging, wanted.source, cluster);
  printReport(io, wanted.json, report, (told) => explanationText(told, page, judging.nowMs));
  return 0;
}

type Entered = Subject & Pick<Found, 'notes'>;

const DEPLOYMENTS = kindNamed('Deployment') as WorkloadKind;
const ROLLOUTS = kindNamed('Rollout') as WorkloadKind;
const JOBS = kindNamed('Job') as WorkloadKind;

/** A Rollout may borrow the template of a Deployment: then that is where a change goes, whoever asks for it. */
async function enter(cluster: Cluster, judging: Judging, found: Found): Promise<Entered> {
  const { snapshot, settings } = judging;
  const { workloadRef: borrowed } = snapshot.parse(found.kind, found.object);
  if (borrowed?.kind === 'Deployment' && !settings.compat) {
    const owner = await findObject(cluster, { kind: DEPLOYMENTS, name: borrowed.name });
    // What is not watched asks for nothing.
    if (settings.isArgoRollouts) snapshot.enter(found.kind, found.object);
    const effect = settings.isArgoRollouts
      ? 'a change is written here, once'
      : 'Rollouts are not watched, so what it asks for does not count (set --is-Argo-Rollouts=true)';
    const note = `Rollout ${found.object.metadata.name} borrows this template; ${effect}`;
    const lent = { kind: DEPLOYMENTS, object: owner, notes: [...found.notes, note] };
    return withPods(cluster, { ...lent, rolledBy: found, workload: snapshot.enter(DEPLOYMENTS, owner) });
  }
  const workload = snapshot.enter(found.kind, found.object);
  if (found.kind.kind === 'CronJob') {
    for (const job of await snapshot.list(JOBS)) judging.ledger.noteRun(snapshot.parse(JOBS, job));
  }
  return withPods(cluster, { ...found, rolledBy: await borrowerOf(found, judging), workload });
}

/** Who makes the pods: the workload itself, unless a Rollout has borrowed its template. */
async function borrowerOf(found: Found, { snapshot, settings }: Judging): Promise<Subject['rolledBy']> {
  if (found.kind.kind !== 'Deployment' || !settings.isArgoRollouts) return found;
  let rolledBy: Subject['rolledBy'] = found;
  for (const object of await snapshot.list(ROLLOUTS)) {
    const { workloadRef } = snapshot.enter(ROLLOUTS, object);
    const isBorrower = workloadRef?.kind === 'Deployment' && workloadRef.name === found.object.metadata.name;
    if (isBorrower && !settings.compat) rolledBy = { kind: ROLLOUTS, object };
  }
  return rolledBy;
}

async function withPods({ client }: Cluster, subject: Omit<Entered, 'pods'>): Promise<Entered> {
  const { kind, object, rolledBy } = subject;
  const owners = new Set([object.metadata.uid, rolledBy.object.metadata.uid]);
  return { ...subject, pods: await podsOf(client, kind, object, owners) };
}

async function reportOn(
  subject: Entered,
  judging: Judging,
  source: Target<SourceKind> | undefined,
  { client, namespace }: Cluster,
): Promise<WorkloadReport> {
  const { snapshot, settings, ledger, nowMs } = judging;
  const { kind, object, workload, notes } = subject;
  await snapshot.readForeignSources(workload);
  const refs = refsOf(snapshot.concernsOf(workload), source && { ...source, namespace });
  // A config hash is of all that is listed, also where only one source is asked about.
  const listed = workload.intent.asks.flatMap((ask) => (ask.listed ? listedRefs(ask.listed, namespace) : []));
  const toRead = new Map([...refs, ...listed].map((ref) => [sourceKey(ref), ref]));
  for (const ref of toRead.values()) await snapshot.readData(ref);
  const events = await reloaderEvents(client, object);
  const notWatched = notWatchedBecause(workload.ref, judging.labelsOf(namespace), settings);
  const sources = refs.map((ref) => {
    const unseen = [...notWatched, ...sourceUnseenBecause(ref, workload.ref, judging)];
    const found = explain(subject, ref, unseen, judging);
    const isLost = found.rolls && found.mark?.found !== 'current' && isUndelivered(events, ref, workload.ref.namespace);
    return isLost ? { ...found, state: { ...found.state, is: 'undelivered' as const } } : found;
  });
  const pausedAt = workload.annotations[settings.keys.pausedAt];
  const { paused } = workload;
  const step = pauseStep({ paused, pausedAt, periodMs: workload.intent.overrides.pausePeriodMs }, nowMs);
  const configs = configsNaming(workload, judging);
  const reloads = ledger.reloads(workload);
  return {
    workload: workload.ref,
    judgedBy: judging.by,
    mode: [...(settings.compat ? ['stakater'] : []), ...(settings.sapCompat ? ['sap'] : [])].join(',') || 'default',
    strategy: settings.reloadStrategy,
    timing: timingOf(workload.intent, settings),
    lastWrite: lastWriteOf(object),
    configs,
    cooldown: cooldownOf(configs, reloads.reloadedAt, nowMs),
    restart: restartOf(reloads),
    paused: paused ? { byReloader: pausedAt !== undefined, step } : undefined,
    isLedgerKnown: ledger.known,
    problems: [
      ...annotationProblems(kind, object, workload, settings),
      ...configs.flatMap((config) => config.problems),
    ],
    notes: [...notes, ...judging.unread(), ...ledger.notes],
    sources,
    events: newestOf(events),
  };
}

const restartOf = ({ restart }: KeptReloads): WorkloadReport['restart'] =>
  restart && { pods: restart.pods, since: formatTime(restart.at) };

/** All that concerns the workload; or the one that is asked about, with those of the same name elsewhere that do. */
function refsOf(concerns: readonly SourceRef[], asked: SourceRef | undefined): readonly SourceRef[] {
  if (!asked) return concerns;
  const { kind, namespace, name } = asked;
  const isNamesake = (ref: SourceRef): boolean => ref.kind === kind && ref.name === name && ref.namespace !== namespace;
  return [asked, ...concerns.filter(isNamesake)];
}
