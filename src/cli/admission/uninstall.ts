import { entriesOf, readRegistration } from '../../admission/registration/entries.ts';
import { ENTRY_SUFFIX, REGISTRATIONS } from '../../admission/registration/manifest.ts';
import { objectIn, textIn } from '../../api/json.ts';
import { SECRETS } from '../../api/resources.ts';
import type { KubeClient } from '../../kube/client.ts';
import { unlessAbsent } from '../../kube/kube-error.ts';
import { type Cluster, clusterCommand, clusterUsage, refusedOperands } from '../cluster/cluster-command.ts';
import { findAdmission, secretNameOf } from './target.ts';

const USAGE = `attune admission uninstall [flags of the controller]

Takes admission back: deletes its MutatingWebhookConfiguration, after which every write passes as if it had never been
there, and the Secret with the certificates that Attune made. Stop serving it first, or Attune makes the Secret again.
Running it again is harmless.

  ATTUNE_ADMISSION_NAME       a variable: its name; by default attune-admission
${clusterUsage('where Attune is found')}`;

/** `attune admission uninstall`. */
export const run = clusterCommand({
  name: 'admission uninstall',
  usage: USAGE,
  read: (request) => refusedOperands(request) ?? {},
  run: (_, cluster) => uninstall(cluster),
});

async function uninstall(cluster: Cluster): Promise<number> {
  const { client, io } = cluster;
  const { target } = await findAdmission(cluster);
  const named = `MutatingWebhookConfiguration ${target.name}`;
  const found = await readRegistration(client, target.name);
  const [entry] = found ? entriesOf(found) : [];
  if (found && !entry) throw new Error(`${named} is not Attune's: no entry's name ends in ${ENTRY_SUFFIX}`);
  if (found) await client.delete(REGISTRATIONS, target, { uid: found.metadata.uid });
  io.stdout(found ? `${named} deleted\n` : `there is no ${named}\n`);
  const namespace = textIn(objectIn(entry?.clientConfig['service'])['namespace']) || target.namespace;
  io.stdout(`${await deleteSecret(client, namespace, secretNameOf(target.name))}\n`);
  return 0;
}

async function deleteSecret(client: KubeClient, namespace: string, name: string): Promise<string> {
  if (namespace === '') return `Secret ${name} was not looked for: say with -n where it is`;
  const secret = await client.get(SECRETS, { namespace, name }).catch(unlessAbsent);
  if (!secret) return `there is no Secret ${namespace}/${name}`;
  const { labels, uid } = secret.metadata;
  if (labels?.['app.kubernetes.io/managed-by'] !== 'attune') {
    return `Secret ${namespace}/${name} is left alone: Attune did not make it`;
  }
  await client.delete(SECRETS, { namespace, name }, { uid });
  return `Secret ${namespace}/${name} deleted`;
}
