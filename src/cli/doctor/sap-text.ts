import type { Layout } from '../terminal/layout.ts';
import { painter, table } from '../terminal/table.ts';
import type { SapDiagnosis } from './sap-findings.ts';
import type { SapReport } from './sap-report.ts';

const BOTH =
  'is there as well. Until SAP’s registration is gone, its webhook writes its own hash over that of Attune with every ' +
  'write to a workload, and each time the pods roll.';

/** Whether anything would be treated differently, or must not stay as it is. */
export const isSapDifferent = ({ diagnoses, besides }: SapReport): boolean =>
  besides.length > 0 || diagnoses.some(isDifferent);

const isDifferent = ({ differences }: SapDiagnosis): boolean => differences.length > 0;

/** The report for people. */
export function sapText(report: SapReport, page: Layout): string {
  const { programs, registrations, besides, changes, unread, diagnoses, steps } = report;
  const paint = painter(page);
  const found = [
    ...programs.map(({ namespace, name, image, replicas }) => [
      'program',
      `Deployment ${namespace}/${name}, ${image}${replicas === 0 ? ', scaled to 0' : ''}`,
    ]),
    ...registrations.map(({ name, failurePolicy }) => [
      'registration',
      `MutatingWebhookConfiguration ${name}, failurePolicy ${failurePolicy}`,
    ]),
    ...(programs.length + registrations.length === 0 ? [['program', 'not found; workloads have its annotations']] : []),
  ];
  const rows = diagnoses.flatMap((each) => [
    [
      isDifferent(each) ? paint('yellow', '≠') : '=',
      `${each.workload.kind} ${each.workload.namespace}/${each.workload.name}`,
      each.differences[0] ?? `as before, ${each.sources} ${each.sources === 1 ? 'source' : 'sources'}`,
    ],
    ...each.differences.slice(1).map((line) => ['', '', line]),
    ...each.remarks.map((line) => ['', '', paint('dim', `note: ${line}`)]),
  ]);
  const different = diagnoses.filter(isDifferent).length;
  return [
    `${paint('bold', 'SAP pod-reloader')}\n`,
    table([...found, ...changes.map((line) => ['attune', line])], page, 2),
    ...besides.map((name) => `! ${name} ${BOTH}\n`),
    ...unread.map((line) => `! ${line}\n`),
    '\n',
    table(rows, page),
    rows.length > 0 ? '\n' : '',
    `${different === 0 ? 'None' : different} of ${diagnoses.length} workloads would be treated differently. `,
    'Taking over restarts nothing, in this order:\n',
    ...steps.map((step, at) => `  ${at + 1}. ${paint('cyan', step)}\n`),
  ].join('');
}
