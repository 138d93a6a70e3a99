// What a round has done, as bytes: the entries of one record of the journal (journal.ts). Only what
// is frequent is written in a form of its own; a delivery that is put back is JSON.
//
// An event comes over from the other thread in the form that it has here (pack.ts), so that it is
// copied and only gets its number.

import type { Stage } from "../../core/delivery/delivery.ts";
import type { Event, InputSchema } from "../../core/event.ts";
import type { Instant, Routed, Settlement } from "../../core/ports.ts";
import type { SubscriptionId } from "../../core/subscription.ts";
import { ByteReader, ByteWriter } from "./bytes.ts";

/** Applied one after the other, they repeat what was done. */
export type JournalEntry =
  | {
      readonly kind: "appended";
      readonly number: number;
      readonly event: Event;
      readonly now: Instant;
      readonly to: readonly SubscriptionId[];
    }
  /** It counted; `stage`: where the delivery was. */
  | { readonly kind: "settled"; readonly settlement: Settlement; readonly stage: Stage };

const marks = { appended: 1, gone: 2, settled: 3 } as const;
const usualBytes = 64 * 1024;
const keptBytes = 6 * 1024 * 1024;

/** In an entry of an event: its number, behind the mark. */
const numberAt = 1;
/** And how many deliveries it has, before these: behind the time. */
const countAt = 17;

/** An event and its deliveries as an entry of the journal, which has no number yet. */
export class RoutedBytes implements Routed {
  readonly to: readonly SubscriptionId[];
  /** Characters of the event's text. */
  readonly chars: number;
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;

  constructor(bytes: Buffer, start: number, end: number, chars: number) {
    this.bytes = bytes;
    this.start = start;
    this.end = end;
    this.chars = chars;
    const to: SubscriptionId[] = [];
    const count = bytes.readDoubleLE(start + countAt);
    for (let index = 0; index < count; index += 1) {
      to.push(bytes.readDoubleLE(start + countAt + 8 + 8 * index));
    }
    this.to = to;
  }

  /** Made of the bytes at each call: most events are never asked for. */
  get event(): Event {
    const from = new ByteReader(this.bytes, this.start + countAt + 8 + 8 * this.to.length);
    return readEvent(from);
  }
}

export class EntryWriter {
  readonly #to = new ByteWriter(usualBytes);
  readonly #from: number;

  /** The first `from` bytes are left to the caller. */
  constructor(from: number) {
    this.#from = from;
    this.clear();
  }

  get isEmpty(): boolean {
    return this.#to.length === this.#from;
  }

  /** All of it, and the room before it. It is overwritten after `clear`. */
  get bytes(): Buffer {
    return this.#to.room.subarray(0, this.#to.length);
  }

  clear(): void {
    // One large publish must not keep its memory for ever; full rounds do not need as much.
    if (this.#to.room.length > keptBytes) this.#to.resize(usualBytes);
    this.#to.rewind(0);
    this.#to.skip(this.#from);
  }

  appended(number: number, routed: Routed, now: Instant, to: readonly SubscriptionId[]): void {
    if (routed instanceof RoutedBytes && to.length === routed.to.length) {
      const at = this.#to.length;
      this.#to.copy(routed.bytes, routed.start, routed.end);
      this.#to.room.writeDoubleLE(number, at + numberAt);
    } else writeAppended(this.#to, number, routed.event, now, to);
  }

  settled(settlement: Settlement, stage: Stage): void {
    if (settlement.kind !== "gone") {
      this.#to.byte(marks.settled);
      this.#to.text(JSON.stringify({ settlement, stage }));
      return;
    }
    this.#to.byte(marks.gone);
    this.#to.number(settlement.delivery.event);
    this.#to.number(settlement.delivery.subscription);
    this.#to.number(settlement.lease);
    this.#to.byte(stage === "deliver" ? 0 : 1);
  }
}

export function writeAppended(
  out: ByteWriter,
  number: number,
  event: Event,
  now: Instant,
  to: readonly SubscriptionId[],
): void {
  out.byte(marks.appended);
  out.number(number);
  out.number(now);
  out.number(to.length);
  for (const subscription of to) out.number(subscription);
  out.text(event.systemId);
  out.text(event.topic);
  out.number(event.publishedAt);
  out.text(event.schema);
  out.text(event.dataVersion);
  out.text(event.text);
  out.text(event.envelope);
  out.text(event.trace?.parent ?? null);
  out.text(event.trace?.state ?? null);
  out.number(event.hops);
}

/** Of the bytes of one record, which are known to be as they were written. */
export function* readEntries(bytes: Buffer): Iterable<JournalEntry> {
  const from = new ByteReader(bytes);
  while (!from.isAtEnd) {
    const mark = from.byte();
    if (mark === marks.appended) yield readAppended(from);
    else if (mark === marks.gone) {
      const delivery = { event: from.number(), subscription: from.number() };
      const settlement: Settlement = { kind: "gone", delivery, lease: from.number() };
      yield { kind: "settled", settlement, stage: from.byte() === 0 ? "deliver" : "deadLetter" };
    } else if (mark === marks.settled) {
      yield { kind: "settled", ...JSON.parse(from.text() as string) };
    } else throw new Error(`The journal has an entry of an unknown kind, ${mark}.`);
  }
}

function readAppended(from: ByteReader): JournalEntry {
  const number = from.number();
  const now = from.number();
  const to = Array.from({ length: from.number() }, () => from.number());
  return { kind: "appended", number, now, to, event: readEvent(from) };
}

function readEvent(from: ByteReader): Event {
  const head = {
    systemId: from.text() as string,
    topic: from.text() as string,
    publishedAt: from.number(),
    schema: from.text() as InputSchema,
    dataVersion: from.text() as string,
    text: from.text() as string,
    envelope: from.text(),
  };
  const [parent, state] = [from.text(), from.text()];
  return { ...head, trace: parent === null ? null : { parent, state }, hops: from.number() };
}
