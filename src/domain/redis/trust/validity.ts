import { formatTime } from '../../text/rfc3339.ts';

/** A certificate's time, and who it is in a message: `the certificate`, `the authority CN=x`. */
export interface Validity {
  readonly name: string;
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Why a certificate does not count now; undefined: it does. */
export function untimely({ name, fromMs, untilMs }: Validity, nowMs: number): string | undefined {
  if (untilMs <= nowMs) {
    return `${name} has expired at ${formatTime(untilMs / 1000)}: issue a new one (now it is ${formatTime(nowMs / 1000)} here)`;
  }
  if (fromMs > nowMs) {
    return `${name} is valid only from ${formatTime(fromMs / 1000)} on: wait, or set the clock right (now it is ${formatTime(nowMs / 1000)} here)`;
  }
  return undefined;
}

/** So long before its end somebody should know. */
const SOON_MS = 7 * 86_400_000;

/** That a served leaf ends soon, or has ended. */
export function expiryWords(endsMs: number, nowMs: number): string | undefined {
  const at = formatTime(endsMs / 1000);
  if (endsMs <= nowMs)
    return `the served certificate has expired at ${at}: clients that verify are refused; issue a new one`;
  return endsMs - nowMs < SOON_MS ? `the served certificate expires soon, at ${at}: issue a new one` : undefined;
}
