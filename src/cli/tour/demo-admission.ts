import { setTimeout as delay } from 'node:timers/promises';
import { type Registration, readRegistration } from '../../admission/registration/entries.ts';
import { REGISTRATIONS, registrationManifest } from '../../admission/registration/manifest.ts';
import type { Settings } from '../../config/settings.ts';
import type { KubeClient } from '../../kube/client.ts';
import { freePort } from '../../sandbox/control-plane/ports.ts';

const INTERVAL_MS = 100;
const DEADLINE_MS = 60_000;
// The API server learns of the registration by a watch of its own.
const HEARD_MS = 1000;

/** How admission is served on this machine, where the API server runs beside it. */
export async function admissionFlags(): Promise<readonly string[]> {
  const address = `127.0.0.1:${await freePort()}`;
  return ['--admission', `--admission-listen=${address}`, `--admission-url=https://${address}`, '--drain=0s'];
}

/** As `attune admission install` does it; resolves when the controller has told the API server whom to trust. */
export async function registerAdmission(client: KubeClient, settings: Settings, signal: AbortSignal): Promise<void> {
  const { name, url, marks } = settings.admissionServer;
  const manifest = registrationManifest({ name, namespace: settings.ownNamespace, url }, { ...settings, marks });
  await client.patch(REGISTRATIONS, { name }, manifest, { type: 'apply', fieldManager: 'attune-install', force: true });
  const deadline = performance.now() + DEADLINE_MS;
  while (!isTrusted(await readRegistration(client, name, signal))) {
    if (performance.now() > deadline) throw new Error('admission was not registered within a minute');
    await delay(INTERVAL_MS, undefined, { signal });
  }
  await delay(HEARD_MS, undefined, { signal });
}

const isTrusted = (found: Registration | undefined): boolean =>
  found?.webhooks?.every(({ clientConfig }) => (clientConfig.caBundle ?? '') !== '') === true;
