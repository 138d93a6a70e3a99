// Dates and times as publishers write them. Event Grid requires a zone and is otherwise tolerant;
// CloudEvents require RFC 3339, which is stricter. A time is checked and passed on as written, with
// all its digits.

const dateRule = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T/i;
/**
 * Seconds and the colon of the zone may be missing, as in the output of `date
 * +%Y-%m-%dT%H:%M:%S%z`, which the service's own examples use.
 */
const timeRule =
  /^(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?(?:Z|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)$/i;

/** A date, a time and a zone as ISO 8601 writes them. */
export function isDateTime(text: string): boolean {
  return dateRule.test(text) && timeRule.test(text.slice(11)) && isDay(text);
}

/** A date and time that has its seconds, and minutes in its zone. */
export function isRfc3339(text: string): boolean {
  return /:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/i.test(text.slice(16)) && isDateTime(text);
}

/** What RFC 3339 requires is added; a text that has it all stays as it is. */
export function toRfc3339(dateTime: string): string {
  if (isRfc3339(dateTime)) return dateTime;
  const [, minutes, seconds = ":00", hours, rest = "00"] =
    /^(.{16})(:[\d.]+)?(Z|[+-]\d\d)(?::?(\d\d))?$/i.exec(dateTime) ?? [];
  return `${minutes}${seconds}${hours}${/^z$/i.test(hours ?? "") ? "" : `:${rest}`}`;
}

/** Whether the month has such a day. */
function isDay(dateTime: string): boolean {
  const day = Number(dateTime.slice(8, 10));
  if (day <= 28) return true;
  const monthAfter = Date.UTC(Number(dateTime.slice(0, 4)), Number(dateTime.slice(5, 7)), 1);
  return day <= new Date(monthAfter - 1).getUTCDate();
}
