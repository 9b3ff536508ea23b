import type { KubeClient } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import { clientConfigOf, type Endpoint, installCommand, placeOf } from '../endpoint.ts';
import { keepTrying } from '../keep-trying.ts';
import { Untrusted } from '../probe.ts';
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
  /** Fails unless the endpoint answers over TLS, to somebody who trusts this bundle and nothing else: then `Untrusted`. */
  readonly probe: (bundle: string) => Promise<void>;
  /** Called with the seconds that the API server waits for an answer, by our entries. */
  readonly timeoutFound: (seconds: number) => void;
  /** Is given a function to call when the bundle has changed. */
  readonly onBundleChange?: ((changed: () => void) => void) | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: RegistrationMetrics;
}

// Where an entry says nothing.
const API_TIMEOUT_SECONDS = 10;
const LOOK_MS = 10_000;
const REPAIR_MS = 60_000;
// The bundle, and then the policy.
const APPLIES = 2;
// Somebody else wrote at the same time, and may not be done.
const OVERTAKEN_MS = 1000;

/**
 * Keeps `caBundle` and `failurePolicy` of our entries as they are to be, until aborted, and nothing else of them. The API
 * server first learns whom to trust, under `Ignore`; `Fail` comes last, after the endpoint has answered with a certificate
 * that the bundle of each entry vouches for. Where it does not, the policy is `Ignore`.
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
  /** The bundles of somebody else with which the endpoint has answered. */
  #proven = '';
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
    const entries = entriesOf(found);
    this.#deps.timeoutFound(Math.min(...entries.map(({ timeoutSeconds = API_TIMEOUT_SECONDS }) => timeoutSeconds)));
    const bundle = await this.#deps.bundle();
    const isTrusted = bundle === '' || entries.every(({ clientConfig }) => clientConfig.caBundle === base64(bundle));
    if (!isTrusted) return await this.#trust(found, bundle, signal);
    const isDone = entries.every((entry) => entry.failurePolicy === failurePolicy);
    const waitMs = isDone ? 0 : this.#begin(found, bundle);
    if (waitMs > 0) return Math.min(LOOK_MS, waitMs);
    if (bundle === '' || !isDone) await this.#prove(found, !isDone, signal);
    if (!isDone) return await this.#apply(found, bundle, () => failurePolicy, signal);
    this.#known = bundle;
    this.#appliesLeft = 0;
    this.#tell(true);
    return LOOK_MS;
  }

  /** Lets the API server trust our bundle. */
  async #trust(found: Registration, bundle: string, signal: AbortSignal): Promise<number> {
    this.#tell(false);
    const waitMs = this.#begin(found, bundle);
    if (waitMs > 0) return Math.min(LOOK_MS, waitMs);
    await this.#probe(bundle);
    const isRenewal = this.#known !== undefined && this.#known !== bundle;
    const policyOf = (entry: Entry) => (isRenewal ? entry.failurePolicy : 'Ignore');
    return await this.#apply(found, bundle, policyOf, signal);
  }

  /**
   * Throws unless the API server trusts the endpoint, by what each entry says. If it cannot, `Fail` is taken back: it would
   * refuse every write to a concerned workload.
   */
  async #prove(found: Registration, isAnew: boolean, signal: AbortSignal): Promise<void> {
    const { failurePolicy, target } = this.#deps;
    const entries = entriesOf(found);
    const bundles = [...new Set(entries.map(({ clientConfig }) => clientConfig.caBundle ?? ''))];
    const isProven = this.#proven === bundles.join();
    try {
      if (bundles.includes(''))
        throw new Untrusted(`an entry of MutatingWebhookConfiguration ${target.name} has no caBundle`);
      if (failurePolicy === 'Ignore' || (isProven && !isAnew)) return;
      for (const each of bundles) await this.#probe(Buffer.from(each, 'base64').toString());
      this.#proven = bundles.join();
    } catch (error) {
      const why = [error, error instanceof Error && error.cause].find((each) => each instanceof Untrusted);
      if (!why) throw error;
      this.#tell(false);
      const isIgnored = entries.every((entry) => entry.failurePolicy === 'Ignore');
      if (!isIgnored) await this.#apply(found, '', () => 'Ignore', signal);
      // Nobody else did that: it is no repair to set `Fail` again.
      this.#known = undefined;
      throw new Error(
        `the API server does not trust admission, so failurePolicy is Ignore: ${why.message}. Let cert-manager write the ` +
          'caBundle (annotation cert-manager.io/inject-ca-from), or put ca.crt into --admission-cert-dir',
        { cause: error },
      );
    }
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

  async #probe(bundle: string): Promise<void> {
    try {
      await this.#deps.probe(bundle);
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
  const chart = target.url === '' ? ', or set attune.admission.enabled in the chart' : '';
  const cure = `run ${installCommand(target)}${chart}`;
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
