// What a round has done, as bytes: the entries of one record of the journal (journal.ts). Only what
// is frequent is written in a form of its own; a delivery that is put back is JSON.

import type { Event, InputSchema } from "../../core/event.ts";
import type { Instant, Settlement, Stage } from "../../core/ports.ts";
import type { SubscriptionId } from "../../core/subscription.ts";

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
const absent = 0xffff_ffff;
/** What a UTF-16 code unit may need as UTF-8. */
const bytesPerUnit = 3;

export class EntryWriter {
  #bytes = Buffer.allocUnsafe(64 * 1024);
  #length: number;
  readonly #from: number;

  /** The first `from` bytes are left to the caller. */
  constructor(from: number) {
    this.#from = from;
    this.#length = from;
  }

  get isEmpty(): boolean {
    return this.#length === this.#from;
  }

  /** All of it, and the room before it. It is overwritten after `clear`. */
  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  clear(): void {
    this.#length = this.#from;
    // One large publish must not keep its memory for ever.
    if (this.#bytes.length > 1024 * 1024) this.#bytes = Buffer.allocUnsafe(64 * 1024);
  }

  appended(number: number, event: Event, now: Instant, to: readonly SubscriptionId[]): void {
    this.#byte(marks.appended);
    this.#number(number);
    this.#number(now);
    this.#number(to.length);
    for (const subscription of to) this.#number(subscription);
    this.#text(event.systemId);
    this.#text(event.topic);
    this.#number(event.publishedAt);
    this.#text(event.schema);
    this.#text(event.dataVersion);
    this.#text(event.text);
    this.#text(event.envelope);
    this.#text(event.trace?.parent ?? null);
    this.#text(event.trace?.state ?? null);
    this.#number(event.hops);
  }

  settled(settlement: Settlement, stage: Stage): void {
    if (settlement.kind !== "gone") {
      this.#byte(marks.settled);
      this.#text(JSON.stringify({ settlement, stage }));
      return;
    }
    this.#byte(marks.gone);
    this.#number(settlement.delivery.event);
    this.#number(settlement.delivery.subscription);
    this.#number(settlement.lease);
    this.#byte(stage === "deliver" ? 0 : 1);
  }

  #byte(value: number): void {
    this.#ensure(1);
    this.#bytes[this.#length] = value;
    this.#length += 1;
  }

  #number(value: number): void {
    this.#ensure(8);
    this.#bytes.writeDoubleLE(value, this.#length);
    this.#length += 8;
  }

  #text(value: string | null): void {
    this.#ensure(4 + (value === null ? 0 : value.length * bytesPerUnit));
    const at = this.#length + 4;
    const length = value === null ? absent : this.#bytes.write(value, at);
    this.#bytes.writeUInt32LE(length, this.#length);
    this.#length = at + (value === null ? 0 : length);
  }

  #ensure(more: number): void {
    if (this.#length + more <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(2 * (this.#length + more));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}

/** Of the bytes of one record, which are known to be as they were written. */
export function* readEntries(bytes: Buffer): Iterable<JournalEntry> {
  const from = new EntryReader(bytes);
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

function readAppended(from: EntryReader): JournalEntry {
  const number = from.number();
  const now = from.number();
  const to = Array.from({ length: from.number() }, () => from.number());
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
  const trace = parent === null ? null : { parent, state };
  return { kind: "appended", number, now, to, event: { ...head, trace, hops: from.number() } };
}

class EntryReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  byte(): number {
    this.#at += 1;
    return this.#bytes[this.#at - 1] as number;
  }

  number(): number {
    this.#at += 8;
    return this.#bytes.readDoubleLE(this.#at - 8);
  }

  text(): string | null {
    const length = this.#bytes.readUInt32LE(this.#at);
    this.#at += 4;
    if (length === absent) return null;
    this.#at += length;
    return this.#bytes.toString("utf8", this.#at - length, this.#at);
  }
}
