// What people type as a time: `10:00`, `1h`, `2026-11-16`, `2026-11-16 10:00`, `now`, or ISO 8601.

const units: Readonly<Record<string, number>> = { s: 1e3, m: 6e4, min: 6e4, h: 36e5, d: 864e5 };
const dayMs = 864e5;

/** `2026-11-16T10:00`, in the zone, as an instant. */
type Read = (local: string) => number;

/**
 * The instant that is meant. `10:00` is the last one: today's, or yesterday's if that is still to
 * come. Null: it is none of these forms.
 */
export function readInstant(text: string, now: number, isUtc: boolean): number | null {
  const given = text.trim().toUpperCase();
  if (given === "NOW") return now;
  const read: Read = (local) => Date.parse(isUtc ? `${local}Z` : local);
  const at = ago(given, now) ?? clockTime(given, now, read, isUtc) ?? dayTime(given, read);
  return at === null || Number.isNaN(at) ? null : at;
}

/** `2026-11-16 10:00:30`, as it can be typed; it is read back to the second. */
export function writeInstant(at: number, isUtc: boolean): string {
  const clock = isUtc
    ? new Date(at).toISOString().slice(11, 19)
    : new Date(at).toTimeString().slice(0, 8);
  return `${dateOf(at, isUtc)} ${clock}`;
}

function ago(given: string, now: number): number | null {
  const found = /^(\d+(?:\.\d+)?) ?(S|M|MIN|H|D)(?: AGO)?$/.exec(given);
  return found === null
    ? null
    : now - Number(found[1]) * (units[(found[2] ?? "").toLowerCase()] ?? Number.NaN);
}

function clockTime(given: string, now: number, read: Read, isUtc: boolean): number | null {
  const found = /^(\d{1,2}):(\d\d)(:\d\d)?$/.exec(given);
  if (found === null) return null;
  const [, hours = "", minutes = "", seconds = ""] = found;
  const at = read(`${dateOf(now, isUtc)}T${hours.padStart(2, "0")}:${minutes}${seconds}`);
  return at > now ? at - dayMs : at;
}

function dayTime(given: string, read: Read): number | null {
  const found = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d[\d:.]*)(Z|[+-]\d\d:\d\d)?)?$/.exec(given);
  if (found === null) return null;
  const [, day = "", clock = "00:00", own] = found;
  return own === undefined ? read(`${day}T${clock}`) : Date.parse(`${day}T${clock}${own}`);
}

function dateOf(now: number, isUtc: boolean): string {
  const at = new Date(now);
  if (isUtc) return at.toISOString().slice(0, 10);
  const pad = (part: number) => String(part).padStart(2, "0");
  return `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}`;
}
