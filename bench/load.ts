// The events of the bench: orders of about a kilobyte in the Event Grid schema, each with a number,
// the time at which it was sent, and figures of its own. A request is one buffer written over and
// over, with only these changed in it.

const EVENT_BYTES = 1024;
const ID_DIGITS = 10;
const ID_MARK = Buffer.from('"id":"bench-');
const TIME_DIGITS = 16;
const TIME_MARK = Buffer.from('"sentAt":"');
/** Stands for a digit that differs from event to event, as in what people publish. */
const OWN_DIGIT = "#".charCodeAt(0);
/** A prime, so that events never come round to the same digits in the same places. */
const DIGITS_MADE = 4_000_037;

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
  const own = Uint32Array.from(bytes.keys().filter((at) => bytes[at] === OWN_DIGIT));
  return {
    bytes,
    events,
    number(first, sentAtMs) {
      for (const [index, at] of ids.entries()) writeDigits(bytes, at, first + index, ID_DIGITS);
      const micros = Math.round(sentAtMs * 1_000);
      for (const at of times) writeDigits(bytes, at, micros, TIME_DIGITS);
      for (const at of own) bytes[at] = digits.next();
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
    data: { customer: "bench", total: -1, sentAt: "0".repeat(TIME_DIGITS), lines: "" },
  };
  const line = "article ######-##: 1 piece at ###.## EUR, not paid yet; ";
  const bytes = EVENT_BYTES - JSON.stringify(event).length;
  event.data.lines = line.repeat(Math.ceil(bytes / line.length)).slice(0, bytes);
  return JSON.stringify(event);
}

/** In an order that is the same in every run. */
class Digits {
  readonly #all = Buffer.allocUnsafe(DIGITS_MADE);
  #at = 0;

  constructor() {
    let state = 1;
    for (let at = 0; at < this.#all.length; at += 1) {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      this.#all[at] = 48 + Math.floor((state / 2 ** 32) * 10);
    }
  }

  next(): number {
    this.#at = (this.#at + 1) % this.#all.length;
    return this.#all[this.#at] as number;
  }
}

/** Of all requests: if the same ones came again soon, whoever compresses would gain by it. */
const digits = new Digits();

function writeDigits(bytes: Buffer, offset: number, value: number, digits: number): void {
  let rest = value;
  for (let at = offset + digits - 1; at >= offset; at -= 1) {
    bytes[at] = 48 + (rest % 10);
    rest = Math.floor(rest / 10);
  }
}
