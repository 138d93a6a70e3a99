// The trace context that a publisher sends along, as W3C's Trace Context has it
// (https://www.w3.org/TR/trace-context/): which trace a request belongs to and who its parent is.
// It is kept with the event and sent with every attempt, so that a receiver's spans belong to the
// publisher's trace.
//
// Malformed values are ignored, as the specification asks: a trace is no reason to refuse an event.
// Deliberately absent: making new contexts, which runtime/telemetry/ does.

/** Bounded by what `readTrace` lets in. */
export interface Trace {
  /** The value of `traceparent`. */
  readonly parent: string;
  /** The value of `tracestate`, or null. */
  readonly state: string | null;
}

/** What every participant has to pass on at least; here also the maximum. */
export const traceStateCharsMax = 512;
const entriesMax = 32;
/** Longer entries are removed first. */
const longEntryChars = 128;
/** Of an unknown version, with what it may add at the end. */
const parentCharsMax = 256;

const parentRule = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-[!-~]*)?$/;
const keyRule =
  /^(?:[a-z][a-z0-9_\-*/]{0,255}|[a-z0-9][a-z0-9_\-*/]{0,240}@[a-z][a-z0-9_\-*/]{0,13})$/;
const valueRule = /^[ -+\--<>-~]{0,255}[!-+\--<>-~]$/;

/** Null unless there is a valid parent. An invalid state is left out. */
export function readTrace(parent: unknown, state: unknown): Trace | null {
  if (typeof parent !== "string" || !isParent(parent)) return null;
  return { parent, state: typeof state === "string" ? readState(state) : null };
}

function isParent(text: string): boolean {
  if (text.length > parentCharsMax) return false;
  const [, version, trace = "", span = "", more] = parentRule.exec(text) ?? [];
  if (version === undefined || version === "ff") return false;
  if (version === "00" && more !== undefined) return false;
  return !/^0+$/.test(trace) && !/^0+$/.test(span);
}

function readState(text: string): string | null {
  const entries = text.split(",").map(trimBlanks).filter(Boolean);
  if (entries.length === 0 || entries.length > entriesMax) return null;
  const keys = new Set<string>();
  for (const entry of entries) {
    const equals = entry.indexOf("=");
    const key = entry.slice(0, Math.max(0, equals));
    if (!keyRule.test(key) || !valueRule.test(entry.slice(equals + 1)) || keys.has(key))
      return null;
    keys.add(key);
  }
  return shorten(entries);
}

function trimBlanks(text: string): string {
  return text.replace(/^[ \t]+|[ \t]+$/g, "");
}

/** The newest are in front, so the oldest are removed first, after the long ones. */
function shorten(entries: readonly string[]): string | null {
  const kept = [...entries];
  const isTooLong = () => kept.join(",").length > traceStateCharsMax;
  for (let at = kept.length - 1; at >= 0 && isTooLong(); at--) {
    if ((kept[at]?.length ?? 0) > longEntryChars) kept.splice(at, 1);
  }
  while (isTooLong()) kept.pop();
  return kept.length === 0 ? null : kept.join(",");
}

/** What goes with a send: as headers over HTTP, as properties on a bus. */
export function traceFields(trace: Trace | null | undefined): Readonly<Record<string, string>> {
  if (!trace) return noFields;
  const { parent, state } = trace;
  return state === null ? { traceparent: parent } : { traceparent: parent, tracestate: state };
}

const noFields: Readonly<Record<string, string>> = Object.freeze({});

/**
 * The common one of all events, or null: a request has one parent, and choosing one event's would
 * be wrong.
 */
export function sharedTrace(traces: readonly (Trace | null)[]): Trace | null {
  const first = traces[0] ?? null;
  return first !== null && traces.every((other) => isSameTrace(first, other)) ? first : null;
}

export function isSameTrace(one: Trace, other: Trace | null): boolean {
  return other !== null && one.parent === other.parent && one.state === other.state;
}
