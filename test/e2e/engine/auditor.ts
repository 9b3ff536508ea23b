import { RECORD } from '../../../src/api/annotations.ts';
import type { KindName } from '../../../src/api/kinds.ts';
import { type Audit, templateIn } from '../../support/audit.ts';
import type { AnyObject } from '../../support/sandbox.ts';
import type { SourceName } from '../../support/workloads.ts';

/** A workload and the sources whose change is to roll it. */
export interface Use {
  readonly kind: KindName;
  readonly name: string;
  readonly sources: readonly SourceName[];
}

export interface Judgement {
  readonly workload: string;
  /** Revisions without a change of data since the one before: their resource versions. */
  readonly surplus: readonly number[];
  /** Sources whose last change came after the last revision. */
  readonly missed: number;
  /** What happened, in the server's order: for whoever has to find out why. */
  readonly story: readonly string[];
}

const versionOf = (object: AnyObject): number => Number(object.metadata.resourceVersion);

/** When the pods were made anew, in the server's own time; the first is the beginning. */
export function revisionsOf(audit: Audit, kind: KindName, name: string): readonly number[] {
  if (kind === 'CronJob') return [0, ...runsOf(audit, name)];
  const revisions: number[] = [];
  let last = '';
  for (const { object } of audit.sightings(kind, name)) {
    const text = JSON.stringify([templateIn(kind, object), object['spec'].restartAt]);
    if (text !== last) revisions.push(versionOf(object));
    last = text;
  }
  return revisions;
}

/** A CronJob has no revisions: its Jobs are what a change brings about. */
function runsOf(audit: Audit, name: string): readonly number[] {
  const owned = audit
    .all('Job')
    .filter((job) => job.metadata['ownerReferences' as never]?.[0]?.['name'] === name)
    .map((job) => audit.sightings('Job', job.metadata.name)[0]?.object);
  return owned.flatMap((job) => (job ? [versionOf(job)] : [])).sort((a, b) => a - b);
}

/** When the data of a source changed, its creation not counted. */
function changesOf(audit: Audit, { kind, name }: SourceName): readonly number[] {
  const changes: number[] = [];
  let last: string | undefined;
  for (const { object } of audit.sightings(kind, name)) {
    const text = JSON.stringify(object['data']);
    if (last !== undefined && text !== last) changes.push(versionOf(object));
    last = text;
  }
  return changes;
}

/** Judges from outside: by what the API server showed to everybody, and in its own order. */
export function verdictOn(use: Use, revisions: readonly number[], audit: Audit): Judgement {
  const changes = use.sources.map((source) => changesOf(audit, source));
  const all = changes.flat();
  const surplus = revisions
    .slice(1)
    .filter((revision, at) => !all.some((change) => change > (revisions[at] ?? 0) && change < revision));
  const last = revisions.at(-1) ?? 0;
  const missed = changes.filter((of) => (of.at(-1) ?? 0) > last).length;
  return { workload: `${use.kind}/${use.name}`, surplus, missed, story: storyOf(use, revisions, changes) };
}

function storyOf(use: Use, revisions: readonly number[], changes: readonly (readonly number[])[]): readonly string[] {
  const told = [
    ...revisions.map((version) => [version, 'rolled'] as const),
    ...changes.flatMap((of, at) => of.map((version) => [version, use.sources[at]?.name ?? ''] as const)),
  ];
  return told.sort(([a], [b]) => a - b).map(([version, what]) => `${version} ${what}`);
}

/** What a source held at a moment of the server's time. */
function dataAt(audit: Audit, { kind, name }: SourceName, version: number): string {
  const sightings = audit.sightings(kind, name);
  const then = sightings.findLast(({ object }) => versionOf(object) <= version) ?? sightings[0];
  return JSON.stringify(then?.object['data']);
}

const ownerOf = (object: AnyObject): string | undefined => object.metadata['ownerReferences' as never]?.[0]?.['uid'];

/** When the pods were made that a workload has now; where it has none, when its newest would have been. */
function podsOf(audit: Audit, { kind, name }: Use): readonly number[] {
  const uid = audit.latest(kind, name)?.metadata.uid;
  const sets = audit.all('ReplicaSet').filter((set) => ownerOf(set) === uid);
  const owners = new Set([uid, ...sets.map(({ metadata }) => metadata.uid)]);
  const pods = audit.all('Pod').filter((pod) => owners.has(ownerOf(pod)) && !pod.metadata.deletionTimestamp);
  const made = pods.flatMap((pod) => {
    const sightings = audit.sightings('Pod', pod.metadata.name);
    const first = sightings.find(({ object }) => object.metadata.uid === pod.metadata.uid);
    return first ? [versionOf(first.object)] : [];
  });
  return made.length > 0 ? made : revisionsOf(audit, kind, name).slice(-1);
}

/** Sources of which some pod started with other data than there is now. Marks and records are not looked at. */
export function outdatedIn(audit: Audit, use: Use): readonly string[] {
  const pods = podsOf(audit, use);
  return use.sources
    .filter((source) =>
      pods.some((made) => dataAt(audit, source, made) !== dataAt(audit, source, Number.POSITIVE_INFINITY)),
    )
    .map(({ name }) => `${use.kind}/${use.name} has other data of ${name}`);
}

/** Rollouts of ours before which no source had moved since the one before, whoever made that. */
export function needlessIn(audit: Audit, use: Use): readonly number[] {
  const changes = use.sources.flatMap((source) => changesOf(audit, source));
  const sightings = audit.sightings(use.kind, use.name);
  const recordOf = (at: number) => sightings[at]?.object.metadata.annotations?.[RECORD];
  const revisions = revisionsOf(audit, use.kind, use.name);
  return revisions.slice(1).filter((revision, before) => {
    const at = sightings.findIndex(({ object }) => versionOf(object) === revision);
    const isOurs = recordOf(at) !== undefined && recordOf(at) !== recordOf(at - 1);
    return isOurs && !changes.some((change) => change > (revisions[before] ?? 0) && change < revision);
  });
}
