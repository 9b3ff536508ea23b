const DAY = 86_400;
const SHAPE = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.\d+)?(Z|[-+]\d\d:\d\d)$/;

/** `2026-01-31T12:00:00Z`: seconds, never fractions. */
export function formatTime(epochSeconds: number): string {
  const seconds = Math.floor(epochSeconds);
  const days = Math.floor(seconds / DAY);
  const rest = seconds - days * DAY;
  const { year, month, day } = dateOf(days);
  const two = (value: number): string => String(value).padStart(2, '0');
  const date = `${String(year).padStart(4, '0')}-${two(month)}-${two(day)}`;
  return `${date}T${two(Math.floor(rest / 3600))}:${two(Math.floor(rest / 60) % 60)}:${two(rest % 60)}Z`;
}

/** Seconds since the epoch, fractions dropped; undefined if the text is no RFC 3339 time. */
export function parseTime(text: string): number | undefined {
  const match = SHAPE.exec(text);
  if (match === null) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map(Number);
  const days = daysUntil(year, month, day);
  const date = dateOf(days);
  if (date.month !== month || date.day !== day || hour > 23 || minute > 59 || second > 59) return undefined;
  const zone = offsetOf(match[7] ?? 'Z');
  return zone === undefined ? undefined : days * DAY + hour * 3600 + minute * 60 + second - zone;
}

function offsetOf(zone: string): number | undefined {
  if (zone === 'Z') return 0;
  const [hours = 0, minutes = 0] = zone.slice(1).split(':').map(Number);
  if (hours > 24 || minutes > 59) return undefined;
  return (zone.startsWith('-') ? -1 : 1) * (hours * 3600 + minutes * 60);
}

/*
 * Days of the proleptic Gregorian calendar, counted in years that begin on 1 March: the leap day is then the last day
 * of its year, and the lengths of the months follow (153 m + 2) / 5. An era is 400 years, 146097 days.
 */
function daysUntil(year: number, month: number, day: number): number {
  const shifted = month > 2 ? year : year - 1;
  const era = Math.floor(shifted / 400);
  const yearOfEra = shifted - era * 400;
  const dayOfYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}

function dateOf(days: number): { readonly year: number; readonly month: number; readonly day: number } {
  const shifted = days + 719_468;
  const era = Math.floor(shifted / 146_097);
  const dayOfEra = shifted - era * 146_097;
  const leapDays = Math.floor(dayOfEra / 1460) - Math.floor(dayOfEra / 36_524) + Math.floor(dayOfEra / 146_096);
  const yearOfEra = Math.floor((dayOfEra - leapDays) / 365);
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const shiftedMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9;
  return {
    year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0),
    month,
    day: dayOfYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1,
  };
}
