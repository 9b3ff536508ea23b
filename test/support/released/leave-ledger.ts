import { readFileSync } from 'node:fs';
import { RECORD } from '../../../src/api/annotations.ts';
import type { KindName } from '../../../src/api/kinds.ts';
import type { Stage } from '../controller.ts';
import { api } from '../sandbox.ts';
import { until } from '../wait.ts';
import { isObserved, pathOf, type SourceName, sourceObject } from '../workloads.ts';

type Fields = Readonly<Record<string, unknown>>;

interface ReleasedWorkload {
  readonly kind: Exclude<KindName, 'Job'>;
  readonly name: string;
  readonly source: SourceName;
  /** Of the source, when the program ended. */
  readonly data: Readonly<Record<string, string>>;
  /** As it was created, before anything was rolled. */
  readonly manifest: Fields;
  /** What a rollout wrote: the pod template with the mark in it, or for a CronJob the Job that was run. */
  readonly template?: Fields;
  readonly job?: { readonly name: string; readonly spec: Fields };
  readonly record?: Fields;
}

interface ReleasedLedger {
  /** The data of Secret attune-ledger-key; all fingerprints here were made with it. */
  readonly key: Fields;
  /** Of ConfigMap attune-ledger-0. */
  readonly shard: Fields & { readonly workloads: Readonly<Record<string, Fields>> };
  readonly workloads: readonly ReleasedWorkload[];
}

/**
 * What the released 0.1.0 wrote to a cluster, captured from that program: it ran over these workloads, rolled some of them and
 * was stopped. Times, uids, resource versions and the namespace are the only things that differ from cluster to cluster.
 */
export const RELEASED = JSON.parse(
  readFileSync(new URL('ledger-0.1.0.json', import.meta.url), 'utf8'),
) as ReleasedLedger;

const CAPTURED_SPACE = 'captured';

/** Brings a stage into the state in which 0.1.0 would have left it. Gives the uid of each workload by its key. */
export async function leaveReleasedLedger({ home, space }: Stage): Promise<ReadonlyMap<string, string>> {
  const admin = api();
  const uids = new Map<string, string>();
  const keyOf = ({ kind, name }: ReleasedWorkload): string => `${kind}/${space}/${name}`;
  for (const each of RELEASED.workloads) {
    const { kind, source, data, manifest } = each;
    await admin.create(pathOf(source.kind, space), sourceObject(source.kind, source.name, data));
    const { metadata } = await admin.create(pathOf(kind, space), manifest);
    uids.set(keyOf(each), metadata.uid);
  }
  await untilObserved(space);
  const rolledAt = await newestVersion(space);
  for (const each of RELEASED.workloads) {
    if (each.record) await roll(each, uids.get(keyOf(each)) ?? '', space, rolledAt);
  }
  await untilObserved(space);
  const endedAt = await newestVersion(space);
  const { shard, key } = RELEASED;
  const workloads = Object.entries(shard.workloads).map(([captured, entry]) => {
    const here = captured.replace(`/${CAPTURED_SPACE}/`, `/${space}/`);
    return [here, transplanted(entry, uids.get(here) ?? '', rolledAt)] as const;
  });
  const ledger = {
    ...shard,
    alive: Date.now(),
    seen: versionsAs(shard['seen'], endedAt),
    told: versionsAs(shard['told'], endedAt),
    workloads: Object.fromEntries(workloads),
  };
  await admin.create(pathOf('Secret', home), { metadata: { name: 'attune-ledger-key' }, data: key });
  const data = { ledger: JSON.stringify(ledger) };
  await admin.create(pathOf('ConfigMap', home), { metadata: { name: 'attune-ledger-0' }, data });
  return uids;
}

/** As the captured program did: in one write for a workload, by a new Job for a CronJob. */
async function roll(workload: ReleasedWorkload, uid: string, space: string, version: number): Promise<void> {
  const { kind, name, template, job, record = {} } = workload;
  const annotations = { [RECORD]: JSON.stringify(transplanted(record, uid, version)) };
  if (!job) {
    await api().patch(pathOf(kind, space, name), { metadata: { annotations }, spec: { template } });
    return;
  }
  const ownerReferences = [{ apiVersion: 'batch/v1', kind, name, uid, controller: true }];
  const metadata = { name: job.name, annotations, ownerReferences };
  await api().create(pathOf('Job', space), { metadata, spec: job.spec });
}

/** A record or an entry with the uid, the time and the resource versions of this cluster. */
function transplanted(captured: Fields, uid: string, version: number): Fields {
  const looks = (captured['looks'] ?? []) as readonly (readonly [string, number])[];
  return {
    ...captured,
    uid,
    ...('seen' in captured && { seen: version }),
    ...('at' in captured && { at: Math.floor(Date.now() / 1000) }),
    ...('looks' in captured && { looks: looks.map(([digest, since]) => [digest, since === 0 ? 0 : version]) }),
  };
}

const versionsAs = (captured: unknown, version: number): Fields =>
  Object.fromEntries(Object.keys(captured as Fields).map((kind) => [kind, version]));

const newestVersion = async (space: string): Promise<number> =>
  Number((await api().get(pathOf('ConfigMap', space))).metadata.resourceVersion);

/** What changes while pods are being replaced may be in some of them: then nobody can say that nothing changed. */
async function untilObserved(space: string): Promise<void> {
  const kinds = new Set(RELEASED.workloads.map(({ kind }) => kind).filter((kind) => kind !== 'CronJob'));
  for (const kind of kinds) {
    const all = async () => (await api().list(pathOf(kind, space))).every(isObserved);
    await until(all, { what: `every ${kind} observed` });
  }
}
