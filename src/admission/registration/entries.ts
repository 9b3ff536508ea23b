import { type JsonObject, objectIn } from '../../api/json.ts';
import type { KubeObject } from '../../api/objects.ts';
import type { KubeClient } from '../../kube/client.ts';
import { unlessAbsent } from '../../kube/kube-error.ts';
import { clientConfigOf, type Endpoint } from '../endpoint.ts';
import { ENTRY_SUFFIX, REGISTRATIONS } from './manifest.ts';

/** As much of an entry as is read of it. */
export interface Entry {
  readonly name: string;
  readonly clientConfig: JsonObject & { readonly caBundle?: string };
  readonly failurePolicy?: string;
  readonly timeoutSeconds?: number;
}

/** A MutatingWebhookConfiguration. */
export interface Registration extends KubeObject {
  readonly webhooks?: readonly Entry[] | null;
}

/** Owns `caBundle` and `failurePolicy` of our entries. */
export const REGISTRATION_MANAGER = 'attune-admission';

/** Undefined: there is none. */
export async function readRegistration(
  client: Pick<KubeClient, 'get'>,
  name: string,
  signal?: AbortSignal,
): Promise<Registration | undefined> {
  return await client.get<Registration>(REGISTRATIONS, { name }, { signal }).catch(unlessAbsent);
}

/** Our entries of a registration, in which others may have some too. */
export const entriesOf = ({ webhooks }: Registration): readonly Entry[] =>
  (webhooks ?? []).filter(({ name }) => name.endsWith(ENTRY_SUFFIX));

/** Whether calls of this entry arrive at the endpoint. */
export function isLedTo({ service, url }: Entry['clientConfig'], endpoint: Endpoint): boolean {
  const wanted = clientConfigOf(endpoint);
  const [here, there] = [objectIn(service), objectIn(wanted['service'])];
  return url === wanted['url'] && here['name'] === there['name'] && here['namespace'] === there['namespace'];
}

/** Who wrote last, as far as the server remembers. */
export function lastWriterOf({ metadata }: Registration): string {
  const others = (metadata.managedFields ?? []).filter(({ manager }) => manager !== REGISTRATION_MANAGER);
  const [last] = others.toSorted((a, b) => (b.time ?? '').localeCompare(a.time ?? ''));
  return last?.manager ? `"${last.manager}"` : 'somebody';
}
