import type { Clock } from '../../runtime/clock.ts';
import type { Log } from '../../telemetry/log.ts';

/** What the endpoint serves, and what its callers have to trust. All texts are PEM. */
export interface ServingCertificate {
  readonly cert: string;
  readonly key: string;
  /** What the API server has to trust; '' where somebody else tells it. */
  readonly bundle: string;
  readonly notAfterMs: number;
}

export interface CertificateMetrics {
  set(name: 'attune_admission_certificate_expiry_timestamp_seconds', labels: object, value: number): void;
  increment(name: 'attune_admission_renewals_total', labels: { readonly what: 'leaf' | 'ca' }): void;
}

/** What every way to come by a certificate needs. */
export interface CertificateDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: CertificateMetrics;
  /** Called with the first one, and whenever another one is to be served or trusted. */
  readonly onChange: (certificate: ServingCertificate) => void;
}

/** However a change comes about, it is noticed this soon. */
export const POLL_MS = 10_000;

/** Tells about a certificate, if it is not the one that was told last. */
export function changeTeller({ metrics, onChange }: CertificateDeps): (certificate: ServingCertificate) => void {
  let last: ServingCertificate | undefined;
  return (certificate) => {
    const { cert, key, bundle, notAfterMs } = certificate;
    if (cert === last?.cert && key === last.key && bundle === last.bundle) return;
    last = certificate;
    metrics.set('attune_admission_certificate_expiry_timestamp_seconds', {}, notAfterMs / 1000);
    onChange(certificate);
  };
}
