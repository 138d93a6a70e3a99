// The events of the bench: about a kilobyte each in the Event Grid schema, each with a number and
// the time at which it was sent. A request is one buffer written over and over, with only these
// changed in it.

const EVENT_BYTES = 1024;
const ID_DIGITS = 10;
const ID_MARK = Buffer.from('"id":"bench-');
const TIME_DIGITS = 16;
const TIME_MARK = Buffer.from('"sentAt":"');

export interface Target {
  readonly port: number;
  readonly path: string;
  readonly key: string;
}

export interface ReusableRequest {
  readonly bytes: Buffer;
  readonly events: number;
  /** Numbers the events from `first` on, and says when they were sent; see `nowMs`. */
  number(first: number, sentAtMs: number): void;
}

export function buildRequest(target: Target, events: number): ReusableRequest {
  const body = Buffer.from(`[${Array.from({ length: events }, buildEvent).join(",")}]`);
  const head = [
    `POST ${target.path} HTTP/1.1`,
    `Host: 127.0.0.1:${target.port}`,
    "Content-Type: application/json",
    `aeg-sas-key: ${target.key}`,
    `Content-Length: ${body.length}`,
    "\r\n",
  ].join("\r\n");
  const bytes = Buffer.concat([Buffer.from(head), body]);
  const ids = endsOf(bytes, ID_MARK);
  const times = endsOf(bytes, TIME_MARK);
  return {
    bytes,
    events,
    number(first, sentAtMs) {
      for (const [index, at] of ids.entries()) writeDigits(bytes, at, first + index, ID_DIGITS);
      const micros = Math.round(sentAtMs * 1_000);
      for (const at of times) writeDigits(bytes, at, micros, TIME_DIGITS);
    },
  };
}

/** Where each mark ends. */
function endsOf(bytes: Buffer, mark: Buffer): number[] {
  const ends: number[] = [];
  for (let at = bytes.indexOf(mark); at !== -1; at = bytes.indexOf(mark, at + 1)) {
    ends.push(at + mark.length);
  }
  return ends;
}

/** The numbers of the events in a delivery; none if it is none of ours. */
export function readNumbers(body: Buffer): number[] {
  return endsOf(body, ID_MARK).map((from) =>
    Number(body.toString("latin1", from, from + ID_DIGITS)),
  );
}

/** When the first event of a delivery was sent, in milliseconds; null if it is none of ours. */
export function readSentAt(body: Buffer): number | null {
  const at = body.indexOf(TIME_MARK);
  if (at === -1) return null;
  const from = at + TIME_MARK.length;
  return Number(body.toString("latin1", from, from + TIME_DIGITS)) / 1_000;
}

function buildEvent(): string {
  const event = {
    id: `bench-${"0".repeat(ID_DIGITS)}`,
    subject: "/bench/orders",
    eventType: "Bench.OrderPlaced",
    eventTime: "2024-01-01T00:00:00Z",
    dataVersion: "1.0",
    data: { customer: "bench", total: -1, sentAt: "0".repeat(TIME_DIGITS), pad: "" },
  };
  event.data.pad = "x".repeat(EVENT_BYTES - JSON.stringify(event).length);
  return JSON.stringify(event);
}

function writeDigits(bytes: Buffer, offset: number, value: number, digits: number): void {
  let rest = value;
  for (let at = offset + digits - 1; at >= offset; at -= 1) {
    bytes[at] = 48 + (rest % 10);
    rest = Math.floor(rest / 10);
  }
}
