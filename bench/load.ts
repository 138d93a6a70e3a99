// The events of the bench: about a kilobyte each in the Event Grid schema, each with a number. A
// request is one buffer written over and over, with only the numbers in it changed.

const EVENT_BYTES = 1024;
const ID_DIGITS = 10;
const ID_MARK = Buffer.from('"id":"bench-');

export interface Target {
  readonly port: number;
  readonly path: string;
  readonly key: string;
}

export interface ReusableRequest {
  readonly bytes: Buffer;
  readonly events: number;
  /** Numbers the events from `first` on. */
  number(first: number): void;
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
  const offsets: number[] = [];
  for (let at = bytes.indexOf(ID_MARK); at !== -1; at = bytes.indexOf(ID_MARK, at + 1)) {
    offsets.push(at + ID_MARK.length);
  }
  return {
    bytes,
    events,
    number(first) {
      for (const [index, offset] of offsets.entries()) writeDigits(bytes, offset, first + index);
    },
  };
}

/** The number of the first event in a delivery, or null if it is none of ours. */
export function readNumber(body: Buffer): number | null {
  const at = body.indexOf(ID_MARK);
  if (at === -1) return null;
  const from = at + ID_MARK.length;
  return Number(body.toString("latin1", from, from + ID_DIGITS));
}

function buildEvent(): string {
  const event = {
    id: `bench-${"0".repeat(ID_DIGITS)}`,
    subject: "/bench/orders",
    eventType: "Bench.OrderPlaced",
    eventTime: "2024-01-01T00:00:00Z",
    dataVersion: "1.0",
    data: { pad: "" },
  };
  event.data.pad = "x".repeat(EVENT_BYTES - JSON.stringify(event).length);
  return JSON.stringify(event);
}

function writeDigits(bytes: Buffer, offset: number, value: number): void {
  let rest = value;
  for (let at = offset + ID_DIGITS - 1; at >= offset; at -= 1) {
    bytes[at] = 48 + (rest % 10);
    rest = Math.floor(rest / 10);
  }
}
