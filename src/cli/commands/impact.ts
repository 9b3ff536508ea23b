import { WORKLOAD_KINDS } from '../../api/kinds.ts';
import { SOURCE_RESOURCES } from '../../api/resources.ts';
import type { SourceKind, SourceRef } from '../../api/sources.ts';
import { nearest } from '../../config/nearest.ts';
import { notWatchedBecause } from '../../domain/watch-scope.ts';
import { type WorkloadRef, workloadKey } from '../../domain/workload/workload.ts';
import type { SourceFacts } from '../../model/snapshot.ts';
import { CLUSTER_USAGE, type Cluster, clusterCommand } from '../cluster/cluster-command.ts';
import { sourceTarget, type Target } from '../cluster/kind-words.ts';
import { mustExist } from '../cluster/namespace.ts';
import { type Answer, answerTo, type Consequence } from '../explain/answer.ts';
import { presenceNotes } from '../explain/explain-text.ts';
import { beginJudging, type Judging, sourceUnseenBecause } from '../explain/judging.ts';
import type { Request } from '../request.ts';
import type { Layout } from '../terminal/layout.ts';
import { printReport } from '../terminal/print-report.ts';
import { painter, table } from '../terminal/table.ts';

const USAGE = `attune impact KIND/NAME [-o json] [flags of the controller]

Tells which workloads would roll if a ConfigMap, Secret or SecretProviderClass changed, and why; and which use or name it
and would not, and why not. Reads only. Judges by the flags given, else by those of the Attune in the cluster.

  attune impact configmap/app -n shop
  attune impact secret/db-password -n shop -o json

  -o, --output json           for programs
${CLUSTER_USAGE}`;

type Wanted = Target<SourceKind> & { readonly json: boolean };

interface ImpactReport {
  readonly source: SourceRef;
  readonly presence: SourceFacts['presence'];
  readonly judgedBy: string;
  readonly notes: readonly string[];
  /** Whether every kind of workload could be listed; if not, there may be more than these. */
  readonly complete: boolean;
  /** Those that use or name it. */
  readonly workloads: readonly Effect[];
}

type Effect = Answer & { readonly workload: WorkloadRef };

/** `attune impact`: which workloads would roll if a source changed. */
export const run = clusterCommand({ name: 'impact', usage: USAGE, read: readWanted, run: impactOf });

function readWanted({ operands, own }: Request): Wanted | string {
  const target = sourceTarget(operands);
  const output = own.get('output');
  if (output !== undefined && output !== 'json') return `-o knows json, not ${output}`;
  return typeof target === 'string' ? target : { ...target, json: output === 'json' };
}

async function impactOf({ kind, name, json }: Wanted, cluster: Cluster): Promise<number> {
  const { io, page, namespace } = cluster;
  const judging = await beginJudging(cluster);
  const ref: SourceRef = { kind, namespace, name };
  const { snapshot, settings } = judging;
  for (const row of WORKLOAD_KINDS) {
    for (const object of await snapshot.list(row)) {
      // A Rollout that is not watched asks for nothing in the name of the template that it borrows.
      if (settings.isArgoRollouts || !snapshot.parse(row, object).workloadRef) snapshot.enter(row, object);
    }
  }
  await enterElsewhere(ref, judging);
  // A right to get it is enough to know its annotations.
  if (snapshot.facts(ref).presence === 'unreadable') await snapshot.readData(ref);
  const complete = !WORKLOAD_KINDS.some(({ plural }) => snapshot.forbidden.some((each) => each.plural === plural));
  const report = reportOn(ref, judging, complete);
  if (report.workloads.length === 0 && report.presence !== 'present') await mustExist(cluster.client, namespace);
  if (report.workloads.length === 0 && report.presence === 'absent') throw new Error(unknown(report, judging));
  printReport(io, json, report, (told) => text(told, page));
  return 0;
}

/** Workloads of other namespaces that ReloaderConfigs name which watch the source's. */
async function enterElsewhere({ namespace }: SourceRef, { snapshot }: Judging): Promise<void> {
  const { configs } = snapshot;
  const watching = [...configs.values()].filter((config) => configs.sourceNamespaces(config).includes(namespace));
  const targets = watching
    .flatMap((config) => config.targets.map(({ ref }) => ref))
    .filter((ref) => ref.namespace !== namespace && configs.namingOf(workloadKey(ref)).length > 0);
  const wanted = new Set(targets.map(workloadKey));
  for (const [place, refs] of Map.groupBy(targets, (ref) => ref.namespace)) {
    for (const row of WORKLOAD_KINDS.filter(({ kind }) => refs.some((ref) => ref.kind === kind))) {
      const objects = await snapshot.list(row, false, place);
      for (const object of objects) {
        if (wanted.has(workloadKey(snapshot.parse(row, object).ref))) snapshot.enter(row, object);
      }
    }
  }
}

function reportOn(ref: SourceRef, judging: Judging, complete: boolean): ImpactReport {
  const { snapshot, settings, labelsOf } = judging;
  const facts = snapshot.facts(ref);
  const workloads = [...snapshot.index.dependents(ref)].flatMap((key) => {
    const workload = snapshot.workloads.get(key);
    if (!workload || !snapshot.isConcerned(workload, ref)) return [];
    const notWatched = [
      ...notWatchedBecause(workload.ref, labelsOf(workload.ref.namespace), settings),
      ...sourceUnseenBecause(ref, workload.ref, judging),
    ];
    const { marking: _, ...answer } = answerTo(workload, ref, notWatched, judging);
    return [{ workload: workload.ref, ...answer }];
  });
  workloads.sort((a, b) => Number(b.rolls) - Number(a.rolls) || a.workload.name.localeCompare(b.workload.name));
  return { source: ref, presence: facts.presence, judgedBy: judging.by, notes: judging.unread(), complete, workloads };
}

/** Nobody has heard of it, so the name is probably a slip. */
function unknown({ source, complete }: ImpactReport, { snapshot }: Judging): string {
  const { kind, namespace, name } = source;
  const names = [...snapshot.sources.inNamespace(kind, namespace)].map(({ ref }) => ref.name);
  const guess = nearest(name, names);
  const { plural } = SOURCE_RESOURCES[kind];
  const there = names.length === 0 ? `\nthe namespace has no ${plural}` : `\nthe ${plural} there: ${names.join(', ')}`;
  const nobody = complete ? 'no workload names it' : 'no workload that you may list names it';
  const known = `there is no ${kind} ${namespace}/${name}, and ${nobody}${guess ? `; did you mean ${guess}?` : ''}`;
  return `${known}${snapshot.hasListed(kind, namespace) ? there : ''}`;
}

function text({ source, presence, judgedBy, notes, complete, workloads }: ImpactReport, page: Layout): string {
  const paint = painter(page);
  const rolling = workloads.filter(({ rolls }) => rolls).length;
  const title = paint('bold', `${source.kind} ${source.namespace}/${source.name}`);
  const rows = workloads.flatMap(({ workload, rolls, action, because, rule, cures }) => [
    [
      rolls ? paint('green', '✓') : paint('red', '✗'),
      `${workload.kind} ${workload.namespace === source.namespace ? '' : `${workload.namespace}/`}${workload.name}`,
      `${rolls ? WORDS[action ?? 'patch'] : 'stays'} (${because})`,
      rule,
    ],
    ...cures.map((cure) => ['', '', '', paint('cyan', `to roll: ${cure}`)]),
  ]);
  const counted = complete
    ? `${rolling} of the ${workloads.length} workloads that use or name it`
    : `at least ${rolling} of those that use or name it; kinds that you may not list are not counted`;
  return [
    `${title}: a change reaches ${counted}\n`,
    table(
      [
        ['judged by', judgedBy],
        ...lifecycleRows(workloads),
        ...notes.map((note) => ['note', paint('dim', note)]),
        ...presenceNotes(presence).map((note) => ['note', paint('yellow', note)]),
      ],
      page,
      2,
    ),
    rows.length > 0 ? '\n' : '',
    table(rows, page),
  ].join('');
}

/** What creation and deletion do to those that a change rolls; the others stay in any case. */
function lifecycleRows(workloads: readonly Effect[]): readonly (readonly string[])[] {
  const rolling = workloads.filter(({ rolls }) => rolls);
  if (rolling.length === 0) return [];
  const row = (word: string, of: (effect: Effect) => Consequence): readonly string[] => {
    const reached = rolling.filter((effect) => of(effect).rolls).length;
    const rules = [...new Set(rolling.map((effect) => of(effect).rule))].join('; ');
    return [word, `reaches ${reached} of the ${rolling.length} that roll for a change (${rules})`];
  };
  return [row('creation', ({ ifCreated }) => ifCreated), row('deletion', ({ ifDeleted }) => ifDeleted)];
}

const WORDS = {
  patch: 'rolls',
  restart: 'restarts',
  evict: 'restarts',
  run: 'runs a Job',
  replace: 'is replaced',
  none: 'stays',
} as const;
