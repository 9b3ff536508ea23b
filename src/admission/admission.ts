import type { Resource } from '../api/resources.ts';
import { admit } from '../domain/admission/admit.ts';
import type { AdmissionRules } from '../domain/admission/request.ts';
import type { KubeClient } from '../kube/client.ts';
import { KubeError } from '../kube/kube-error.ts';
import { retryTransient } from '../kube/retry-transient.ts';
import type { LedgerKey } from '../model/ledger/ledger-key.ts';
import { createObjectParser } from '../model/object-parser.ts';
import { pause } from '../runtime/backoff.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Log } from '../telemetry/log.ts';
import type { AdmissionMetrics } from '../telemetry/metric-tables/admission.ts';
import { filesCertificate } from './certificates/files-certificate.ts';
import { ownCertificate } from './certificates/own-certificate.ts';
import type { ServingCertificate } from './certificates/serving-certificate.ts';
import { storedBundle } from './certificates/stored-certificates.ts';
import { type Endpoint, hostsOf } from './endpoint.ts';
import { addressOf, probe } from './probe.ts';
import { TIMEOUT_SECONDS } from './registration/manifest.ts';
import { keepRegistered } from './registration/registration.ts';
import { createLiveHash } from './serve/live-hash.ts';
import type { ReviewerDeps } from './serve/reviewer.ts';
import { type AdmissionServer, createAdmissionServer } from './serve/server.ts';

export interface AdmissionSettings {
  readonly listen: { readonly host: string; readonly port: number };
  /** '': it is reached by its Service. */
  readonly url: string;
  readonly failurePolicy: 'Ignore' | 'Fail';
  /** '': the certificate is our own. */
  readonly certDir: string;
  readonly certLifeMs: number;
  /** Of the MutatingWebhookConfiguration and the Service; the Secret is called after it. */
  readonly name: string;
  readonly drainMs: number;
}

export interface AdmissionDeps {
  readonly settings: AdmissionSettings;
  readonly rules: Omit<AdmissionRules, 'ownUsername' | 'isOwnHash'>;
  /** Where the Service and the Secret of the certificate are. */
  readonly ownNamespace: string;
  /** Both halves of Attune have to come to the same digests. */
  readonly ledgerKey: (signal: AbortSignal) => Promise<LedgerKey>;
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: AdmissionMetrics;
}

// A listener that has just begun may need a second look.
const TEST_AGAIN_MS = 1000;

/** A server, its certificate and its registration. It writes to no workload: it answers those who do. */
export class Admission {
  readonly #deps: AdmissionDeps;
  readonly #endpoint: Endpoint;
  readonly #cert: { readonly namespace: string; readonly name: string };
  #certificate: ServingCertificate | undefined;
  #listening: Promise<number> | undefined;
  #isTested = false;
  #isEnding = false;
  #bundleChanged = (): void => {};
  #timeoutSeconds = TIMEOUT_SECONDS;

  constructor(deps: AdmissionDeps) {
    const { settings, ownNamespace: namespace } = deps;
    this.#deps = deps;
    this.#endpoint = { name: settings.name, namespace, url: settings.url };
    this.#cert = { namespace, name: `${settings.name}-cert` };
  }

  /** Whether requests are to be sent here: it has a certificate, and has answered itself. */
  isReady(): boolean {
    return this.#isTested && !this.#isEnding;
  }

  /** Serves until aborted, and for the time of the drain after that. Throws if it can serve nobody. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, settings } = this.#deps;
    const stopped = abortOf(signal).then(() => {
      this.#isEnding = true;
    });
    const decision = await Promise.race([this.#decision(signal), stopped]);
    if (!decision) return;
    const { listen } = settings;
    const isReady = () => this.isReady();
    const timeoutSeconds = () => this.#timeoutSeconds;
    const server = createAdmissionServer({ ...this.#deps, ...decision, listen, isReady, timeoutSeconds });
    await Promise.race([this.#tend(server, signal), stopped]);
    if (this.#listening !== undefined) {
      // API servers learn with a delay that this replica goes, and send requests until then.
      log.info('admission is served a little longer', { ms: settings.drainMs });
      await new Promise<void>((resolve) => void clock.after(settings.drainMs, resolve));
    }
    await server.stop();
  }

  async #decision(signal: AbortSignal): Promise<Pick<ReviewerDeps, 'admit' | 'readHash'>> {
    const { client, clock, log, rules } = this.#deps;
    let told = '';
    const retrying = ({ message }: KubeError): void => {
      if (message !== told) log.warn(`waiting for the API server: ${message}`);
      told = message;
    };
    const patience = { clock, signal, retrying };
    const ledgerKey = await retryTransient(() => this.#deps.ledgerKey(signal), patience);
    const ownUsername = await retryTransient(() => ownServiceAccount(client, signal), patience);
    const parser = createObjectParser({ ...rules, ...ledgerKey });
    const { contentHash } = ledgerKey;
    const isOwnHash = (hash: string): boolean => contentHash?.madeHash(hash) ?? true;
    return {
      admit: (request, hash) => admit(request, { ...rules, ownUsername, isOwnHash }, hash),
      readHash: createLiveHash({ ...this.#deps, parser, contentHash }),
    };
  }

  /** Keeps certificate and registration in order, until aborted. */
  async #tend(server: AdmissionServer, signal: AbortSignal): Promise<void> {
    const failed = Promise.withResolvers<never>();
    const adopt = (next: ServingCertificate): void => {
      this.#adopt(server, next, signal).catch(failed.reject);
    };
    await Promise.race([Promise.all([this.#certificates(adopt, signal), this.#registration(signal)]), failed.promise]);
  }

  #certificates(onChange: (next: ServingCertificate) => void, signal: AbortSignal): Promise<void> {
    const { certDir: dir, certLifeMs: lifeMs } = this.#deps.settings;
    if (dir !== '') return filesCertificate({ ...this.#deps, dir, onChange }, signal);
    return ownCertificate({ ...this.#deps, ...this.#cert, hosts: hostsOf(this.#endpoint), lifeMs, onChange }, signal);
  }

  #registration(signal: AbortSignal): Promise<void> {
    const { client, settings } = this.#deps;
    return keepRegistered(
      {
        ...this.#deps,
        target: this.#endpoint,
        failurePolicy: settings.failurePolicy,
        timeoutFound: (seconds) => {
          this.#timeoutSeconds = seconds;
        },
        // What the Secret says, because another replica may have renewed it.
        bundle: () => (settings.certDir === '' ? storedBundle(client, this.#cert) : (this.#certificate?.bundle ?? '')),
        probe: async (bundle) => {
          const address = addressOf(this.#endpoint);
          const status = await probe(address, this.#endpoint, bundle, signal);
          if (status !== 200) throw new Error(`${address.host}:${address.port} says that it is not ready (${status})`);
        },
        onBundleChange: (changed) => {
          this.#bundleChanged = changed;
        },
      },
      signal,
    );
  }

  /** New handshakes get the new certificate; who is connected already does not notice. */
  async #adopt(server: AdmissionServer, next: ServingCertificate, signal: AbortSignal): Promise<void> {
    const { settings, clock, log } = this.#deps;
    this.#certificate = next;
    server.useCertificate(next);
    this.#listening ??= server.start();
    const port = await this.#listening;
    const self = { host: settings.listen.host || '127.0.0.1', port };
    while (!this.#isTested && !signal.aborted && this.#certificate === next) {
      try {
        // For whom a certificate from files is meant, those who gave it know: by which name they register it is their choice.
        await probe(self, this.#endpoint, settings.certDir === '' ? next.bundle : undefined, signal);
        this.#isTested = true;
        log.info('admission is ready', { port });
      } catch (error) {
        log.warn('admission does not answer itself yet', { port, error: String(error) });
        await pause(clock, TEST_AGAIN_MS, signal);
      }
    }
    this.#bundleChanged();
  }
}

const abortOf = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });

const SELF_SUBJECT_REVIEWS: Resource = {
  group: 'authentication.k8s.io',
  version: 'v1',
  plural: 'selfsubjectreviews',
  kind: 'SelfSubjectReview',
  namespaced: false,
};

interface SelfSubjectReview {
  readonly status?: { readonly userInfo?: { readonly username?: string } };
}

/** A person's own name is not ours, though we may run with it. Undefined where nobody tells: the field manager does. */
async function ownServiceAccount(client: KubeClient, signal: AbortSignal): Promise<string | undefined> {
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  try {
    const { status } = await client.create<SelfSubjectReview>(SELF_SUBJECT_REVIEWS, undefined, review, { signal });
    const { username = '' } = status?.userInfo ?? {};
    return username.startsWith('system:serviceaccount:') ? username : undefined;
  } catch (error) {
    if (KubeError.is(error) && (error.status === 403 || error.status === 404)) return undefined;
    throw error;
  }
}
