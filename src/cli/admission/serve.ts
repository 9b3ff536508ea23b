import { Admission } from '../../admission/admission.ts';
import type { Settings } from '../../config/settings.ts';
import { ownKey } from '../../controller/ledger/own-key.ts';
import { ownCure } from '../../controller/report/ledger-report.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { KubeError } from '../../kube/kube-error.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import type { AdmissionMetrics } from '../../telemetry/metric-tables/admission.ts';

export interface ServeDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: AdmissionMetrics;
}

/** Admission by the settings, with the key of the ledger. */
export function createAdmission(settings: Settings, deps: ServeDeps): Admission {
  const { client, log } = deps;
  const { ownNamespace, compat, sapCompat, keys, autoReloadAll, admissionServer } = settings;
  if (ownNamespace === '' && admissionServer.certDir === '') {
    throw new Error(
      'admission has no namespace for its certificate: set POD_NAMESPACE or ATTUNE_NAMESPACE, or give it one by --admission-cert-dir',
    );
  }
  const tell = {
    keyless: (error?: KubeError) =>
      log.warn(
        `the key of the ledger cannot be read, so config hashes go by version${error ? `: ${error.message}` : ''}`,
        {
          cure: error
            ? ownCure(error, 'get and create on secrets')
            : 'set POD_NAMESPACE to the namespace of the controller',
        },
      ),
    weakKey: (bytes: number, error?: KubeError) =>
      log.warn(
        error
          ? `the key of the ledger has ${bytes} bytes and cannot be replaced, so config hashes go by version: ${error.message}`
          : `the key of the ledger had ${bytes} bytes, fewer than 32, and is replaced`,
      ),
  };
  const ledgerKey = (signal: AbortSignal) => ownKey(client, { ownNamespace, compat }, tell, signal);
  const rules = { keys, compat, sapCompat, autoReloadAll, marks: admissionServer.marks };
  return new Admission({ ...deps, settings: admissionServer, rules, ownNamespace, ledgerKey });
}
