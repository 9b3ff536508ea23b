import { stringify } from 'yaml';
import { clientConfigOf, type Endpoint, placeOf } from '../../admission/endpoint.ts';
import { entriesOf, type Registration, readRegistration } from '../../admission/registration/entries.ts';
import { REGISTRATIONS, registrationManifest } from '../../admission/registration/manifest.ts';
import type { JsonObject } from '../../api/json.ts';
import type { KubeClient } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { type Cluster, clusterCommand, clusterUsage, refusedOperands } from '../cluster/cluster-command.ts';
import type { Request } from '../request.ts';
import { findAdmission } from './target.ts';

const USAGE = `attune admission install [--dry-run [-o json]] [flags of the controller]

Registers admission with the API server: writes the MutatingWebhookConfiguration that fits the flags given, else those of
the Attune in the cluster. It lets every write pass until a running Attune, whose endpoint answers, says whom to trust and
what --admission-failure-policy wants; running it again does not undo that.

  attune admission install -n attune
  attune admission install --admission-url https://attune.example:9443
  attune admission install --dry-run > registration.yaml

  --dry-run                   print it, and write nothing
  -o, --output json|yaml      of --dry-run; by default yaml
  ATTUNE_ADMISSION_NAME       a variable: its name, and that of the Service; by default attune-admission
${clusterUsage('where Attune is found')}`;

/** Owns what the registration says, but for what a running Attune sets. */
const INSTALL_MANAGER = 'attune-install';
// A running Attune may write at the same time, twice.
const MOST_TRIES = 4;

/** `attune admission install`. */
export const run = clusterCommand({ name: 'admission install', usage: USAGE, read: readWanted, run: install });

interface Wanted {
  readonly print: ((manifest: JsonObject) => string) | undefined;
}

const FORMATS = {
  yaml: (manifest: JsonObject) => stringify(manifest, { lineWidth: 0 }),
  json: (manifest: JsonObject) => `${JSON.stringify(manifest, null, 2)}\n`,
};

function readWanted(request: Request): Wanted | string {
  const { own } = request;
  const refused = refusedOperands(request);
  if (refused !== undefined) return refused;
  const isDry = own.get('dry-run') === 'true';
  const format = own.get('output') ?? 'yaml';
  if (format !== 'yaml' && format !== 'json') return `-o knows json and yaml, not ${format}`;
  if (own.has('output') && !isDry) return '-o is for --dry-run';
  return { print: isDry ? FORMATS[format] : undefined };
}

async function install({ print }: Wanted, cluster: Cluster): Promise<number> {
  const { client, io } = cluster;
  const { target, settings, by } = await findAdmission(cluster);
  if (target.namespace === '' && target.url === '') {
    throw new Error('say with -n where the Service is, or with --admission-url how admission is reached');
  }
  const manifest = registrationManifest(target, { ...settings, marks: settings.admissionServer.marks });
  io.stderr(`by ${by}\n`);
  if (print) io.stdout(print(manifest));
  else io.stdout(`${await register(client, target, manifest)}\n`);
  return 0;
}

/** Applies the manifest over what is there, and tells what came of it. */
async function register(client: KubeClient, target: Endpoint, manifest: JsonObject): Promise<string> {
  const named = `MutatingWebhookConfiguration ${target.name}`;
  for (let tries = 1; ; tries += 1) {
    const found = await readRegistration(client, target.name);
    try {
      const rest = found && (await withoutOldEntries(client, found, manifest));
      const options = { type: 'apply', fieldManager: INSTALL_MANAGER } as const;
      await client.patch(REGISTRATIONS, { name: target.name }, withPolicies(manifest, rest), options);
      const place = placeOf(clientConfigOf(target));
      return `${named} ${found ? 'updated' : 'created'}: it leads to ${place}; attune admission status tells more`;
    } catch (error) {
      if (!KubeError.is(error, 'Conflict')) throw error;
      if (tries < MOST_TRIES) continue;
      const cure = 'change it where it comes from, or run attune admission uninstall first';
      throw new Error(`${named} belongs to another tool (${error.detail ?? error.reason}): ${cure}`, { cause: error });
    }
  }
}

/** What a running Attune has set is said as it is, so that nothing changes: without it the server would take `Fail`. */
function withPolicies(manifest: JsonObject, found: Registration | undefined): JsonObject {
  const entries = found ? entriesOf(found) : [];
  const webhooks = (manifest['webhooks'] as readonly { readonly name: string; readonly failurePolicy: string }[]).map(
    (webhook) => {
      const { failurePolicy = webhook.failurePolicy } = entries.find(({ name }) => name === webhook.name) ?? {};
      return { ...webhook, failurePolicy };
    },
  );
  return { ...manifest, webhooks };
}

/** An apply cannot remove an entry of which a running Attune owns a part; so it is removed before. */
async function withoutOldEntries(client: KubeClient, found: Registration, manifest: JsonObject): Promise<Registration> {
  const wanted = new Set((manifest['webhooks'] as readonly { readonly name: string }[]).map((each) => each.name));
  const old = entriesOf(found).filter((each) => !wanted.has(each.name));
  if (old.length === 0) return found;
  const at = old.map((entry) => (found.webhooks ?? []).indexOf(entry)).toSorted((a, b) => b - a);
  const { name, resourceVersion } = found.metadata;
  const operations = [
    { op: 'replace', path: '/metadata/resourceVersion', value: resourceVersion },
    ...at.map((index) => ({ op: 'remove', path: `/webhooks/${index}` })),
  ];
  return await client.patch(REGISTRATIONS, { name }, operations, { type: 'json', fieldManager: INSTALL_MANAGER });
}
