const SHAPE = /^(\d{4}-\d\d-\d\d)T((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)(?:\.\d+)?(?:Z|([-+])([01]\d|2[0-4]):([0-5]\d))$/;

/** `2026-01-31T12:00:00Z`: seconds, never fractions. */
export function formatTime(epochSeconds: number): string {
  return new Date(Math.floor(epochSeconds) * 1000).toISOString().replace('.000Z', 'Z');
}

/** Seconds since the epoch, fractions dropped; undefined if the text is no RFC 3339 time. */
export function parseTime(text: string): number | undefined {
  const match = SHAPE.exec(text);
  if (match === null) return undefined;
  const [, date = '', time, sign, hours = '0', minutes = '0'] = match;
  const seconds = Date.parse(`${date}T${time}Z`) / 1000;
  // A day that the month does not have is taken for one of the next month.
  if (Number.isNaN(seconds) || !formatTime(seconds).startsWith(date)) return undefined;
  const offset = Number(hours) * 3600 + Number(minutes) * 60;
  return sign === '-' ? seconds + offset : seconds - offset;
}
