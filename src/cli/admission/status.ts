import { certificateIn, pemBlocks } from '../../admission/certificates/pem.ts';
import { readSecret } from '../../admission/certificates/stored-certificates.ts';
import { placeOf } from '../../admission/endpoint.ts';
import { type Entry, entriesOf, type Registration, readRegistration } from '../../admission/registration/entries.ts';
import { REGISTRATIONS } from '../../admission/registration/manifest.ts';
import { objectIn, textIn } from '../../api/json.ts';
import type { KubeClient } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { type Cluster, clusterCommand, clusterUsage, jsonOrText } from '../cluster/cluster-command.ts';
import { printReport } from '../terminal/print-report.ts';
import { span, table } from '../terminal/table.ts';
import { findAdmission, secretNameOf } from './target.ts';

const USAGE = `attune admission status [-o json] [flags of the controller]

Tells whether admission is registered with the API server, where the registration leads, what happens when nobody answers,
and whether the API server trusts the certificate that Attune serves. Changes nothing. Ends with 0 if all is as it should
be, with 1 if something is missing, with 2 if it could not tell.

  -o, --output json           for programs
${clusterUsage('where Attune is found')}`;

const COULD_NOT_TELL = 2;

/** `attune admission status`. */
export const run = clusterCommand({
  name: 'admission status',
  usage: USAGE,
  read: jsonOrText,
  run: status,
  failure: COULD_NOT_TELL,
});

interface Certificate {
  readonly secret: string;
  readonly issuer: string;
  readonly notAfter: string;
}

/** `none`: nobody is trusted yet. `unknown`: the certificate that is served could not be read. */
type Trust = 'fits' | 'other' | 'none' | 'unknown';

interface EntryStatus {
  readonly name: string;
  readonly endpoint: string;
  readonly failurePolicy: string;
  readonly bundle: Trust;
}

interface Status {
  readonly registration: string;
  readonly entries: readonly EntryStatus[];
  /** A text says why it is not known. */
  readonly certificate: Certificate | string;
}

async function status({ json }: { readonly json: boolean }, cluster: Cluster): Promise<number> {
  const { client, io, page } = cluster;
  const { target } = await findAdmission(cluster);
  const found: Status[] = [];
  for (const each of await registrations(client, target.name)) {
    found.push(await statusOf(client, each, target.namespace));
  }
  printReport(io, json, found, (told) => {
    if (told.length === 0) return 'admission is not registered: attune admission install does that\n';
    return told.map((each) => table(rows(each, client.serverNow()), page)).join('\n');
  });
  return exitCode(found, client.serverNow());
}

/** The one of this name, else all that are ours: a chart may have chosen another name. */
async function registrations(client: KubeClient, name: string): Promise<readonly Registration[]> {
  const named = await readRegistration(client, name);
  const all = named ? [named] : [];
  if (!named) for await (const { items } of client.list<Registration>(REGISTRATIONS, {})) all.push(...items);
  return all.filter((each) => entriesOf(each).length > 0);
}

async function statusOf(client: KubeClient, item: Registration, home: string): Promise<Status> {
  const entries = entriesOf(item);
  const namespace = textIn(objectIn(entries[0]?.clientConfig['service'])['namespace']) || home;
  const served = await servedBy(client, namespace, secretNameOf(item.metadata.name));
  const pem = typeof served === 'object' ? served.pem : undefined;
  return {
    registration: item.metadata.name,
    entries: entries.map(({ name, clientConfig, failurePolicy = '' }) => ({
      name,
      endpoint: placeOf(clientConfig),
      failurePolicy,
      bundle: trustOf(clientConfig, pem),
    })),
    certificate: typeof served === 'object' ? served.certificate : served,
  };
}

/** What the replicas serve, where Attune makes it; a text says why that is not known. */
async function servedBy(client: KubeClient, namespace: string, name: string) {
  const secret = `Secret ${namespace}/${name}`;
  if (namespace === '') return `say with -n where Secret ${name} is`;
  const found = await readSecret(client, { namespace, name }).catch((error: unknown) => {
    if (!KubeError.is(error, 'Forbidden')) throw error;
    return 'forbidden' as const;
  });
  if (found === 'forbidden') return `you may not read ${secret}`;
  if (!found) return `there is no ${secret}; with --admission-cert-dir there need not be`;
  const pem = Buffer.from(found.data?.['tls.crt'] ?? '', 'base64').toString();
  const parsed = certificateIn(pem);
  if (!parsed) return `${secret} has no certificate`;
  const certificate = { secret, issuer: parsed.issuer, notAfter: parsed.validToDate.toISOString() };
  return { pem, certificate };
}

function trustOf({ caBundle = '' }: Entry['clientConfig'], pem: string | undefined): Trust {
  if (caBundle === '') return 'none';
  const served = certificateIn(pem ?? '');
  if (!served) return 'unknown';
  const trusted = pemBlocks(Buffer.from(caBundle, 'base64').toString()).map(certificateIn);
  return trusted.some((each) => each && served.verify(each.publicKey)) ? 'fits' : 'other';
}

const TRUST: Readonly<Record<Trust, string>> = {
  fits: 'the certificate that is served is trusted',
  other: 'the certificate that is served is not trusted: a running Attune mends that, its log says why not',
  none: 'nobody is trusted yet: a running Attune sets that once its endpoint answers, its log says why not',
  unknown: 'somebody is trusted; the certificate that is served is not known',
};

function rows({ registration, entries, certificate }: Status, nowMs: number): readonly (readonly string[])[] {
  const [first] = entries;
  const each = (value: (entry: EntryStatus) => string): string => {
    const same = new Set(entries.map(value));
    return same.size === 1 && first
      ? value(first)
      : entries.map((entry) => `${entry.name}: ${value(entry)}`).join(', ');
  };
  return [
    ['registration', `MutatingWebhookConfiguration ${registration}`],
    ['entries', entries.map(({ name }) => name).join(', ')],
    ['endpoint', each(({ endpoint }) => endpoint)],
    ['failurePolicy', each(({ failurePolicy }) => failurePolicy)],
    ['trust', each(({ bundle }) => TRUST[bundle])],
    ...certificateRows(certificate, nowMs),
  ];
}

function certificateRows(certificate: Status['certificate'], nowMs: number): readonly (readonly string[])[] {
  if (typeof certificate === 'string') return [['certificate', certificate]];
  const leftMs = Date.parse(certificate.notAfter) - nowMs;
  const left = leftMs > 0 ? `for another ${span(leftMs)}` : `expired ${span(leftMs)} ago`;
  return [
    ['certificate', `in ${certificate.secret}`],
    ['issuer', certificate.issuer],
    ['valid until', `${certificate.notAfter}, ${left}`],
  ];
}

function exitCode(found: readonly Status[], nowMs: number): number {
  const trusts = found.flatMap(({ entries }) => entries.map(({ bundle }) => bundle));
  const isExpired = found.some(
    ({ certificate }) => typeof certificate === 'object' && Date.parse(certificate.notAfter) <= nowMs,
  );
  if (found.length === 0 || isExpired || trusts.includes('none') || trusts.includes('other')) return 1;
  return trusts.includes('unknown') ? COULD_NOT_TELL : 0;
}
