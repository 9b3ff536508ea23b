import { parseArgs } from 'node:util';
import { parseSettings } from '../../config/parse-settings.ts';
import type { Settings } from '../../config/settings.ts';
import { KubeClient } from '../../kube/client.ts';
import { connect } from '../../kube/connection.ts';
import type { Io } from '../io.ts';
import { findInstallations, type Installation, readCluster } from './doctor-cluster.ts';
import { type Diagnosis, type Difference, diagnose, type Reaction } from './doctor-findings.ts';

const USAGE = `attune doctor [-n NAMESPACE] [-o json] [--kubeconfig FILE] [--context NAME]

Reads a cluster in which Stakater Reloader is installed and tells, workload by workload, whether anything would change
with Attune in its place. Changes nothing. Ends with 0 if nothing would change, with 1 if something would, with 2 if it
could not tell.
`;

interface Report {
  readonly installation: Pick<Installation, 'namespace' | 'name' | 'image'> | undefined;
  readonly unread: readonly string[];
  readonly diagnoses: readonly Diagnosis[];
}

export async function runDoctor(argv: readonly string[], io: Pick<Io, 'env' | 'stdout' | 'stderr'>): Promise<number> {
  const args = readArgs(argv);
  if (typeof args === 'string') {
    io.stderr(`${args}\n\n${USAGE}`);
    return 2;
  }
  if (args.help) {
    io.stdout(USAGE);
    return 0;
  }
  try {
    const connection = await connect({ kubeconfig: args.kubeconfig, context: args.context, env: io.env });
    const client = new KubeClient(connection);
    const reports = await examine(client, args.namespace).finally(() => client.close());
    io.stdout(args.output === 'json' ? `${JSON.stringify(reports, null, 2)}\n` : reports.map(text).join('\n'));
    return reports.some(({ diagnoses }) => diagnoses.some(isDifferent)) ? 1 : 0;
  } catch (error) {
    io.stderr(`attune doctor: ${error instanceof Error ? error.message : String(error)}\n`);
    return 2;
  }
}

function readArgs(argv: readonly string[]) {
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: {
        namespace: { type: 'string', short: 'n' },
        output: { type: 'string', short: 'o' },
        kubeconfig: { type: 'string' },
        context: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    });
    return values.output === undefined || values.output === 'json' ? values : `-o knows json, not ${values.output}`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** One report per Reloader; without one, a single report by the default flags. */
async function examine(client: KubeClient, namespace: string | undefined): Promise<readonly Report[]> {
  const installations = await findInstallations(client);
  if (installations.length === 0)
    return [await report(client, undefined, settingsOf(parseSettings([], {})), namespace)];
  const reports: Report[] = [];
  for (const { parsed, ...installation } of installations) {
    reports.push(await report(client, installation, settingsOf(parsed, installation), namespace));
  }
  return reports;
}

function settingsOf(parsed: Installation['parsed'], at?: Report['installation']): Settings {
  if (parsed.ok) return parsed.settings;
  throw new Error(
    `the flags of Deployment ${at?.namespace}/${at?.name} would be refused: ${parsed.problems.join('; ')}`,
  );
}

async function report(
  client: KubeClient,
  installation: Report['installation'],
  settings: Settings,
  namespace: string | undefined,
): Promise<Report> {
  const cluster = await readCluster(client, settings, namespace);
  const facts = { settings, nowMs: Date.now() };
  const diagnoses = cluster.workloads.map(({ kind, object }) =>
    diagnose(kind, object, cluster.sourcesOf(object.metadata.namespace ?? ''), facts),
  );
  return { installation, unread: cluster.unread, diagnoses };
}

const isDifferent = ({ differences, atOnce }: Diagnosis): boolean => differences.length > 0 || atOnce.length > 0;

function text({ installation, unread, diagnoses }: Report): string {
  const taking = diagnoses.filter((each) => each.sources > 0 || isDifferent(each) || each.remarks.length > 0);
  const different = taking.filter(isDifferent).length;
  const found = installation
    ? `Stakater Reloader: Deployment ${installation.namespace}/${installation.name}, ${installation.image}`
    : 'No Stakater Reloader was found; judged by the default flags.';
  const result =
    different === 0
      ? 'Nothing would change.'
      : `${different} of ${taking.length} workloads would be treated differently.`;
  return [
    found,
    ...unread.map((line) => `! ${line}`),
    '',
    ...taking.flatMap(lines),
    '',
    `${result} ${diagnoses.length - taking.length} workloads take no part. The swap itself restarts nothing${
      taking.some(({ atOnce }) => atOnce.length > 0) ? ' but what is said above' : ''
    }.`,
    '',
  ].join('\n');
}

function lines(diagnosis: Diagnosis): readonly string[] {
  const { workload, sources, differences, atOnce, remarks } = diagnosis;
  const sign = isDifferent(diagnosis) ? '≠' : '=';
  const counted = `${sources} ${sources === 1 ? 'source' : 'sources'}`;
  const title = `${sign} ${workload.kind} ${workload.namespace}/${workload.name}`;
  return [
    isDifferent(diagnosis) ? title : `${title}: as before, ${counted}`,
    ...atOnce.map((line) => `    at once: ${line}`),
    ...differences.map((each) => `    ${difference(each)}`),
    ...remarks.map((line) => `    note: ${line}`),
  ];
}

const WORDS: Readonly<Record<Reaction, string>> = {
  patch: 'rolls it',
  restart: 'restarts it',
  run: 'runs a Job',
  replace: 'replaces it',
  nothing: 'does nothing',
};

const difference = ({ source, before, after, because }: Difference): string =>
  `${source.kind} ${source.name}: Reloader ${WORDS[before]}, Attune ${WORDS[after]}: ${because}`;
