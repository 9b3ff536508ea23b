import { counter, gauge, histogram } from '../metric.ts';
import { createMetrics, type Metrics } from '../metrics.ts';

/** The metrics of admission: of a server alone, or beside those of the controller in whose process it runs. */
export const ADMISSION_METRICS = {
  attune_admission_requests_total: counter(
    ['outcome', 'dry_run'],
    'Requests of the API server, by outcome: unchanged, changed or denied; invalid: it was no proper review; refused: ' +
      'no time was left; failed: Attune had an error of its own. After the last two the failure policy decides.',
    {
      initial: ['unchanged', 'changed', 'denied', 'invalid', 'refused', 'failed'].map((outcome) => ({
        outcome,
        dry_run: 'false',
      })),
    },
  ),
  attune_admission_duration_seconds: histogram(
    [],
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
    'From the head of a request to its answer.',
  ),
  attune_admission_restored_marks_total: counter(
    ['mark'],
    'Marks that another writer left out or changed and that were put back: variable, annotation or record. Dry runs do ' +
      'not count.',
    { initial: ['variable', 'annotation', 'record'].map((mark) => ({ mark })) },
  ),
  attune_admission_live_reads_total: counter(
    ['result'],
    'ConfigMaps and Secrets read for a config hash, by result: success (also of one that does not exist), error or timeout.',
    { initial: ['success', 'error', 'timeout'].map((result) => ({ result })) },
  ),
  attune_admission_certificate_expiry_timestamp_seconds: gauge(
    [],
    'When the certificate that is served ends, in seconds since the epoch; 0 while there is none.',
  ),
  attune_admission_renewals_total: counter(['what'], 'Certificates that this replica has renewed: leaf or ca.', {
    initial: ['leaf', 'ca'].map((what) => ({ what })),
  }),
  attune_admission_registered: gauge([], '1 while the MutatingWebhookConfiguration leads here with the right trust.'),
  attune_admission_registration_repairs_total: counter(
    [],
    'How often trust or failure policy of the registration were set again after somebody else had changed them.',
  ),
} as const;

export type AdmissionMetrics = Metrics<typeof ADMISSION_METRICS>;

export const admissionMetrics = (): AdmissionMetrics => createMetrics(ADMISSION_METRICS);
