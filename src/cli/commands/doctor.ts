import type { KubeObject } from '../../api/objects.ts';
import { type ParsedSettings, parseSettings } from '../../config/parse-settings.ts';
import type { Settings } from '../../config/settings.ts';
import type { KubeClient } from '../../kube/client.ts';
import { type Cluster, clusterCommand, clusterUsage, jsonOrText } from '../cluster/cluster-command.ts';
import type { Deployed } from '../cluster/deployed.ts';
import { mustExist } from '../cluster/namespace.ts';
import { rulings } from '../cluster/ruling-settings.ts';
import { listDeployments, readCluster, reloadersIn } from '../doctor/doctor-cluster.ts';
import { type Diagnosis, diagnose, type Reaction } from '../doctor/doctor-findings.ts';
import { examineSap, type SapReport } from '../doctor/sap-report.ts';
import { isSapDifferent, sapText } from '../doctor/sap-text.ts';
import type { Request } from '../request.ts';
import { printReport } from '../terminal/print-report.ts';

const USAGE = `attune doctor [-n NAMESPACE] [-o json] [flags of Reloader]

Reads a cluster in which Stakater Reloader or SAP pod-reloader is installed and tells, workload by workload, whether
anything would change with Attune in its place. Judges by the flags given, else by those of the Reloader in the cluster,
else by those of the Attune that has taken over; --compat=stakater or --compat=sap alone is about Attune in that mode, by
the flags that are there. Changes nothing. Ends with 0 if nothing would change, with 1 if something would, with 2 if it
could not tell.

  -o, --output json           for programs
${clusterUsage('all namespaces')}`;

interface Report {
  readonly program: 'Stakater Reloader';
  readonly installation: Omit<Deployed, 'parsed'> | undefined;
  readonly judgedBy: string;
  /** Of the Attune that would take over. */
  readonly mode: 'default' | 'stakater';
  /** Without all of it "nothing would change" cannot be said. */
  readonly unread: readonly string[];
  readonly diagnoses: readonly Diagnosis[];
}

type Basis = Omit<Report, 'program' | 'diagnoses' | 'mode'> & { readonly settings: Settings };

const COULD_NOT_TELL = 2;

/** `attune doctor`: what would change if Attune took over. */
export const run = clusterCommand({
  name: 'doctor',
  usage: USAGE,
  read: jsonOrText,
  run: examine,
  failure: COULD_NOT_TELL,
});

/** One report per Reloader; without one, a single report by the flags given or the default ones. One more for SAP's program. */
async function examine({ json }: { readonly json: boolean }, cluster: Cluster): Promise<number> {
  const { client, settings, request, page, io } = cluster;
  const namespace = request.own.get('namespace');
  if (namespace !== undefined) await mustExist(client, namespace);
  const deployments = await listDeployments(client);
  const sap = await examineSap(client, settings, { namespace, deployments });
  const reports: Report[] = [];
  for (const basis of await bases(cluster, deployments)) {
    if (!sap || !isSapAlone(sap, basis, request)) reports.push(await report(client, basis, namespace));
  }
  const all = sap ? [...reports, sap] : reports;
  printReport(io, json, all, (told) =>
    told.map((each) => (each.program === 'SAP pod-reloader' ? sapText(each, page) : text(each))).join('\n'),
  );
  if (reports.some(({ diagnoses }) => diagnoses.some(isDifferent)) || (sap && isSapDifferent(sap))) return 1;
  return [...reports, ...(sap ? [sap] : [])].some(({ unread }) => unread.length > 0) ? COULD_NOT_TELL : 0;
}

/** Where only SAP's program is, and nobody asked about Reloader's flags, there is nothing to tell about them. */
const isSapAlone = (sap: SapReport, { installation, unread }: Basis, request: Request): boolean =>
  sap.programs.length + sap.registrations.length > 0 &&
  !hasFlags(request) &&
  installation === undefined &&
  unread.length === 0;

/** The mode is Attune's own: Reloader has no such flag, and its other flags still count. */
const hasFlags = ({ controller }: Request): boolean => controller.some((flag) => !flag.startsWith('--compat='));

async function bases(cluster: Cluster, deployments: readonly KubeObject[] | undefined): Promise<readonly Basis[]> {
  const { request, settings: given } = cluster;
  const { compat } = given;
  if (hasFlags(request)) {
    return [{ installation: undefined, unread: [], judgedBy: 'Judged by the flags given.', settings: given }];
  }
  const installations = reloadersIn(deployments ?? []);
  if (installations.length === 0) return [await withoutReloader(cluster, deployments !== undefined)];
  return installations.map(({ parsed, ...installation }) => {
    const { namespace, name, image } = installation;
    const judgedBy = `Stakater Reloader: Deployment ${namespace}/${name}, ${image}`;
    return { installation, judgedBy, unread: [], settings: { ...settingsOf(parsed, installation), compat } };
  });
}

/** No Reloader was found: Attune may have taken over already, and then its flags count, where they are known. */
async function withoutReloader(cluster: Cluster, wasLookedFor: boolean): Promise<Basis> {
  const { request, settings: given } = cluster;
  // Nothing but the mode may be given here, and that is no reason to forget the other flags.
  const flagless = { ...cluster, request: { ...request, controller: [] } };
  const [{ by, settings, namespace }] = await rulings(flagless, request.own.get('namespace'));
  const isKnown = namespace !== undefined;
  const known = isKnown ? settings : settingsOf(parseSettings([], {}));
  const judging = request.controller.length > 0 ? { ...known, compat: given.compat } : known;
  const judged = { installation: undefined, settings: judging };
  const rule = `judged by ${isKnown ? by : 'the default flags'}.`;
  if (wasLookedFor) return { ...judged, unread: [], judgedBy: `No Stakater Reloader was found; ${rule}` };
  const unread = ["deployments of all namespaces: this user may not list them, so Reloader's flags are not known"];
  const judgedBy = `You may not look for Stakater Reloader; ${rule} If it has others, give them here.`;
  // Whoever says where Attune is has taken over already: there is no Reloader whose flags could be missed.
  const isAsked = request.own.has('attune-namespace') && isKnown;
  return { ...judged, unread: isAsked ? [] : unread, judgedBy };
}

function settingsOf(parsed: ParsedSettings, at?: Report['installation']): Settings {
  if (parsed.ok) return parsed.settings;
  const problems = parsed.problems.join('; ');
  throw new Error(`the flags of Deployment ${at?.namespace}/${at?.name} would be refused: ${problems}`);
}

async function report(
  client: KubeClient,
  { settings, unread, ...basis }: Basis,
  namespace: string | undefined,
): Promise<Report> {
  const cluster = await readCluster(client, settings, namespace);
  const facts = { settings, nowMs: client.serverNow() };
  const diagnoses = cluster.workloads.map(({ kind, object, borrowers }) =>
    diagnose(kind, object, cluster.sourcesOf(object.metadata.namespace ?? ''), { ...facts, borrowers }),
  );
  const mode = settings.compat ? 'stakater' : 'default';
  return { program: 'Stakater Reloader', ...basis, mode, unread: [...unread, ...cluster.unread], diagnoses };
}

const isDifferent = ({ differences, atOnce }: Diagnosis): boolean => differences.length > 0 || atOnce.length > 0;

function text({ judgedBy, mode, unread, diagnoses }: Report): string {
  const taking = diagnoses.filter((each) => each.sources > 0 || isDifferent(each) || each.remarks.length > 0);
  return [
    judgedBy,
    ...(mode === 'stakater' ? ['About Attune with --compat=stakater.'] : []),
    ...unread.map((line) => `! ${line}`),
    '',
    ...taking.flatMap(lines),
    '',
    `${result(taking, unread)} ${diagnoses.length - taking.length} workloads take no part. The swap itself restarts nothing${
      taking.some(({ atOnce }) => atOnce.length > 0) ? ' but what is said above' : ''
    }.`,
    '',
  ].join('\n');
}

function result(taking: readonly Diagnosis[], unread: readonly string[]): string {
  const different = taking.filter(isDifferent).length;
  if (different > 0) return `${different} of ${taking.length} workloads would be treated differently.`;
  if (unread.length === 0) return 'Nothing would change.';
  return 'Could not tell: what is marked ! was not read. In what was read, nothing would change.';
}

function lines(diagnosis: Diagnosis): readonly string[] {
  const { workload, sources, differences, atOnce, remarks } = diagnosis;
  const sign = isDifferent(diagnosis) ? '≠' : '=';
  const counted = `${sources} ${sources === 1 ? 'source' : 'sources'}`;
  const title = `${sign} ${workload.kind} ${workload.namespace}/${workload.name}`;
  return [
    isDifferent(diagnosis) ? title : `${title}: as before, ${counted}`,
    ...atOnce.map((line) => `    at once: ${line}`),
    ...differences.map(
      ({ source, before, after, because }) =>
        `    ${source.kind} ${source.name}: Reloader ${WORDS[before]}, Attune ${WORDS[after]}: ${because}`,
    ),
    ...remarks.map((line) => `    note: ${line}`),
  ];
}

const WORDS: Readonly<Record<Reaction, string>> = {
  patch: 'rolls it',
  restart: 'restarts it',
  evict: 'restarts it',
  run: 'runs a Job',
  replace: 'replaces it',
  nothing: 'does nothing',
};
