import type { KubeClient } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import { clientConfigOf, type Endpoint, placeOf } from '../endpoint.ts';
import { keepTrying } from '../keep-trying.ts';
import type { Registration } from './entries.ts';
import { type Entry, entriesOf, isLedTo, lastWriterOf, REGISTRATION_MANAGER, readRegistration } from './entries.ts';
import { ENTRY_SUFFIX, REGISTRATIONS } from './manifest.ts';

export interface RegistrationMetrics {
  set(name: 'attune_admission_registered', labels: object, value: number): void;
  increment(name: 'attune_admission_registration_repairs_total'): void;
}

export interface RegistrationDeps {
  readonly client: Pick<KubeClient, 'get' | 'patch'>;
  /** Where the registration leads, and its name. */
  readonly target: Endpoint;
  readonly failurePolicy: 'Ignore' | 'Fail';
  /** What the API server has to trust, as it is now: another replica may have renewed it. '': somebody else tells it. */
  readonly bundle: () => string | Promise<string>;
  /** Fails unless the endpoint answers over TLS, to somebody who trusts the bundle. */
  readonly probe: () => Promise<void>;
  /** Is given a function to call when the bundle has changed. */
  readonly onBundleChange?: ((changed: () => void) => void) | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: RegistrationMetrics;
}

const LOOK_MS = 10_000;
const REPAIR_MS = 60_000;
// The bundle, and then the policy.
const APPLIES = 2;
// Somebody else wrote at the same time, and may not be done.
const OVERTAKEN_MS = 1000;

/**
 * Keeps `caBundle` and `failurePolicy` of our entries as they are to be, until aborted, and nothing else of them. The API
 * server first learns whom to trust, under `Ignore`; `Fail` comes last, after the endpoint has answered once more.
 */
export async function keepRegistered(deps: RegistrationDeps, signal: AbortSignal): Promise<void> {
  const keeper = new Keeper(deps);
  const { clock, log, onBundleChange: onWake } = deps;
  const explain = (error: unknown): string => explained(error, deps.target.name);
  await keepTrying(() => keeper.look(signal), { clock, log, explain, onWake }, signal);
}

class Keeper {
  readonly #deps: RegistrationDeps;
  /** The bundle that was last seen or put there: if another one is there then, somebody else put it. */
  #known: string | undefined;
  /** How often may still be written for what is being done. */
  #appliesLeft = 0;
  #mayRepairAt = Number.NEGATIVE_INFINITY;
  #repairs = 0;
  #blamed = '';
  #isRegistered = false;

  constructor(deps: RegistrationDeps) {
    this.#deps = deps;
  }

  /** Looks, and writes if something is wrong; gives how long to wait. */
  async look(signal: AbortSignal): Promise<number> {
    const { client, target, failurePolicy } = this.#deps;
    const found = await readRegistration(client, target.name, signal);
    const problem = problemWith(found, target);
    if (!found || problem !== undefined) {
      this.#tell(false);
      throw new Error(problem);
    }
    const bundle = await this.#deps.bundle();
    const entries = entriesOf(found);
    const isTrusted = bundle === '' || entries.every(({ clientConfig }) => clientConfig.caBundle === base64(bundle));
    if (isTrusted && entries.every((entry) => entry.failurePolicy === failurePolicy)) {
      this.#known = bundle;
      this.#appliesLeft = 0;
      this.#tell(true);
      return LOOK_MS;
    }
    if (!isTrusted) this.#tell(false);
    const waitMs = this.#begin(found, bundle);
    if (waitMs > 0) return Math.min(LOOK_MS, waitMs);
    await this.#probe();
    const isRenewal = this.#known !== undefined && this.#known !== bundle;
    const policyOf = (entry: Entry) => (isRenewal ? entry.failurePolicy : 'Ignore');
    return await this.#apply(found, bundle, isTrusted ? () => failurePolicy : policyOf, signal);
  }

  /** Whether it may be written now, or in how many milliseconds. To undo what others did is limited, and told. */
  #begin(found: Registration, bundle: string): number {
    const { clock, metrics } = this.#deps;
    if (this.#appliesLeft > 0) return 0;
    if (this.#known === bundle) {
      const waitMs = this.#mayRepairAt - clock.now();
      if (waitMs > 0) return waitMs;
      this.#mayRepairAt = clock.now() + REPAIR_MS;
      this.#repairs += 1;
      metrics.increment('attune_admission_registration_repairs_total');
      this.#blame(lastWriterOf(found));
    }
    this.#appliesLeft = APPLIES;
    return 0;
  }

  /** The first time may be an upgrade; the second is a habit. */
  #blame(writer: string): void {
    const { log, target } = this.#deps;
    if (this.#repairs < 2 || this.#blamed === writer) return;
    this.#blamed = writer;
    log.warn(
      `${writer} keeps changing caBundle or failurePolicy of MutatingWebhookConfiguration ${target.name}, which Attune ` +
        'sets, and sets again once a minute. Let it leave them alone: in Argo CD by ignoreDifferences with ' +
        `managedFieldsManagers: [${REGISTRATION_MANAGER}] and RespectIgnoreDifferences=true; elsewhere by leaving both out ` +
        'of what it applies',
    );
  }

  async #probe(): Promise<void> {
    try {
      await this.#deps.probe();
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new Error(`admission is not registered before its endpoint answers over TLS: ${why}`, { cause: error });
    }
  }

  async #apply(
    found: Registration,
    bundle: string,
    policyOf: (entry: Entry) => string | undefined,
    signal: AbortSignal,
  ): Promise<number> {
    const { client, target } = this.#deps;
    this.#appliesLeft -= 1;
    const webhooks = entriesOf(found).map((entry) => ({
      name: entry.name,
      ...(bundle !== '' && { clientConfig: { caBundle: base64(bundle) } }),
      failurePolicy: policyOf(entry),
    }));
    // With the version that was looked at: whoever wrote since then may have known more. It also makes sure that an apply
    // never makes a registration of its own.
    const { resourceVersion } = found.metadata;
    const metadata = { name: target.name, resourceVersion };
    const body = { apiVersion: 'admissionregistration.k8s.io/v1', kind: REGISTRATIONS.kind, metadata, webhooks };
    try {
      const options = { type: 'apply', fieldManager: REGISTRATION_MANAGER, force: true, signal } as const;
      await client.patch(REGISTRATIONS, { name: target.name }, body, options);
      this.#known = bundle;
      return 0;
    } catch (error) {
      if (!KubeError.is(error, 'Conflict')) throw error;
      return OVERTAKEN_MS;
    }
  }

  #tell(isRegistered: boolean): void {
    const { metrics, log, target, failurePolicy } = this.#deps;
    metrics.set('attune_admission_registered', {}, isRegistered ? 1 : 0);
    if (isRegistered && !this.#isRegistered) {
      log.info('admission is registered', { registration: target.name, failurePolicy });
    }
    this.#isRegistered = isRegistered;
  }
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** Why a registration is not to be touched. */
function problemWith(found: Registration | undefined, target: Endpoint): string | undefined {
  const named = `MutatingWebhookConfiguration ${target.name}`;
  const cure = 'run attune admission install, or set attune.admission.enabled in the chart';
  if (!found) return `there is no ${named}, so the API server asks nobody about admission: ${cure}`;
  const [first, ...others] = entriesOf(found);
  if (!first) return `${named} has no entry whose name ends in ${ENTRY_SUFFIX}: ${cure}`;
  const astray = [first, ...others].find(({ clientConfig }) => !isLedTo(clientConfig, target));
  if (!astray) return undefined;
  const places = `leads to ${placeOf(astray.clientConfig)}, and this Attune is at ${placeOf(clientConfigOf(target))}`;
  return `${named} ${places}: ${cure}, with the flags of this Attune`;
}

function explained(error: unknown, name: string): string {
  if (KubeError.is(error, 'Forbidden')) {
    return (
      `admission cannot be registered, as this may not be done: ${error.verb} mutatingwebhookconfigurations. ` +
      `Allow get and patch of the one named ${name}`
    );
  }
  return error instanceof Error ? error.message : String(error);
}
