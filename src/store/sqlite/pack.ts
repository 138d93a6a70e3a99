// Rounds as they are sent between threads. What is frequent (appends, settlements, and their
// results) is written as bytes into memory that both threads see; the message itself is then next
// to nothing. An event has the form of the journal already, so that the store's thread makes no
// text of it. Anything else is an object in the message.
//
// One piece of memory each way is enough: the next round is sent when the last one was answered.

import type { Routed, RoutedBy, Settlement } from "../../core/ports.ts";
import { ByteReader, ByteWriter } from "./bytes.ts";
import { RoutedBytes, writeAppended } from "./journal-record.ts";
import type { Op, OpResult, Push, Round } from "./round.ts";
import { Slabs } from "./slabs.ts";

type OtherOp = Exclude<Op, { kind: "append" | "settle" }>;

/** One round, or its results. */
export interface Packed<Other> {
  /** Where the bytes are from now on; null: where they were. */
  readonly memory: SharedArrayBuffer | null;
  readonly length: number;
  readonly others: readonly Other[];
}

const opMarks = { append: 1, settle: 2, other: 3 } as const;
const settleMarks = { gone: 0, back: 1, due: 2 } as const;
const settleKinds = ["gone", "back", "due"] as const;

const usualBytes = 256 * 1024;
/** More than this is not kept for the next round; a full one of ASCII needs less. */
const keptBytes = 6 * 1024 * 1024;

/** Writes into memory that is shared with the reader of what `packed` returns. */
class SharedWriter {
  readonly out = new ByteWriter(usualBytes, (bytes) => Buffer.from(new SharedArrayBuffer(bytes)));
  #known: Buffer | null = null;

  begin(): void {
    if (this.out.room.length > keptBytes) this.out.resize(usualBytes);
    this.out.rewind(0);
  }

  packed<Other>(others: readonly Other[]): Packed<Other> {
    const { room, length } = this.out;
    const memory = room === this.#known ? null : (room.buffer as unknown as SharedArrayBuffer);
    this.#known = room;
    return { memory, length, others };
  }
}

class SharedReader {
  #memory: Buffer = Buffer.alloc(0);

  read({ memory, length }: Packed<unknown>): Buffer {
    if (memory !== null) this.#memory = Buffer.from(memory);
    return this.#memory.subarray(0, length);
  }
}

export class OpsPacker {
  readonly #shared = new SharedWriter();

  pack(ops: readonly Op[]): Packed<OtherOp> {
    this.#shared.begin();
    const { out } = this.#shared;
    const others: OtherOp[] = [];
    for (const op of ops) {
      if (op.kind === "append") packAppend(out, op);
      else if (op.kind === "settle") {
        out.byte(opMarks.settle);
        out.whole(op.settlements.length);
        for (const settlement of op.settlements) packSettlement(out, settlement);
      } else {
        out.byte(opMarks.other);
        others.push(op);
      }
    }
    return this.#shared.packed(others);
  }
}

export class OpsUnpacker {
  readonly #shared = new SharedReader();
  /** Events are kept as slices until they are delivered or are rows. */
  readonly #events = new Slabs();

  /** No event of an earlier round is kept any more. */
  reuse(): void {
    this.#events.reuse();
  }

  unpack(packed: Packed<OtherOp>): Op[] {
    const from = new ByteReader(this.#shared.read(packed));
    const others = packed.others.values();
    const ops: Op[] = [];
    while (!from.isAtEnd) {
      const mark = from.byte();
      if (mark === opMarks.append) ops.push(takeAppend(from, this.#events));
      else if (mark === opMarks.settle) {
        const settlements = takeMany(from.whole(), from, takeSettlement);
        ops.push({ kind: "settle", settlements });
      } else ops.push(others.next().value as OtherOp);
    }
    return ops;
  }
}

/** The lengths of the events come first, so that these can be passed over. */
function packAppend(out: ByteWriter, { routed, now, by }: Extract<Op, { kind: "append" }>): void {
  out.byte(opMarks.append);
  out.number(now);
  out.text(by?.topic ?? null);
  out.number(by?.mark ?? 0);
  out.whole(routed.length);
  let place = out.skip(8 * routed.length);
  for (const { event, to } of routed) {
    const start = out.length;
    writeAppended(out, 0, event, now, to);
    out.room.writeUInt32LE(out.length - start, place);
    out.room.writeUInt32LE(event.text.length, place + 4);
    place += 8;
  }
}

function takeAppend(from: ByteReader, kept: Slabs): Op {
  const now = from.number();
  const topic = from.text();
  const mark = from.number();
  const by: RoutedBy | undefined = topic === null ? undefined : { topic, mark };
  const count = from.whole();
  const { bytes } = from;
  let place = from.skip(8 * count);
  const routed: Routed[] = [];
  for (; routed.length < count; place += 8) {
    const length = bytes.readUInt32LE(place);
    const start = from.skip(length);
    const { all, at } = kept.copy(bytes, start, start + length);
    routed.push(new RoutedBytes(all, at, at + length, bytes.readUInt32LE(place + 4)));
  }
  return { kind: "append", now, by, routed };
}

function packSettlement(out: ByteWriter, settlement: Settlement): void {
  const { kind, delivery, lease, lockedAt } = settlement;
  out.byte(settleMarks[kind]);
  out.number(delivery.event);
  out.number(delivery.subscription);
  out.number(lease);
  out.number(lockedAt ?? Number.NaN);
  if (settlement.kind !== "due") return;
  const { at, stage, since, attempts, last, reason } = settlement;
  out.text(JSON.stringify({ at, stage, since, attempts, last, reason }));
}

function takeSettlement(from: ByteReader): Settlement {
  const kind = settleKinds[from.byte()] as Settlement["kind"];
  const delivery = { event: from.number(), subscription: from.number() };
  const lease = from.number();
  const lockedAt = from.number();
  const named = { delivery, lease, ...(!Number.isNaN(lockedAt) && { lockedAt }) };
  if (kind !== "due") return { kind, ...named };
  return { kind, ...named, ...JSON.parse(from.text() as string) };
}

/** Most are one, and an array that grows has room for many. */
function takeMany<T>(count: number, from: ByteReader, takeOne: (from: ByteReader) => T): T[] {
  if (count === 1) return [takeOne(from)];
  const taken: T[] = [];
  while (taken.length < count) taken.push(takeOne(from));
  return taken;
}

function takeNumber(from: ByteReader): number {
  return from.number();
}

function takeFlag(from: ByteReader): boolean {
  return from.byte() === 1;
}

const answerMarks = { nothing: 0, numbers: 1, counted: 2, other: 3 } as const;
const nothing: OpResult = { kind: "done", value: undefined };

/** What is seldom in a round; null: nothing of it. */
type RoundRest = Omit<Round, "answers" | "pushes"> | null;

export class RoundPacker {
  readonly #shared = new SharedWriter();

  pack({ answers, pushes, ...rest }: Round): Packed<OpResult | RoundRest> {
    this.#shared.begin();
    const { out } = this.#shared;
    const others: (OpResult | RoundRest)[] = [];
    out.whole(answers.length);
    for (const answer of answers) if (!packAnswer(out, answer)) others.push(answer);
    for (const { op, index, event, subscription, lease, leasedUntil } of pushes) {
      out.whole(op);
      out.whole(index);
      out.number(event);
      out.number(subscription);
      out.number(lease);
      out.number(leasedUntil);
    }
    const { wakes, changed, dropped, sweep } = rest;
    const isUsual = wakes.length + dropped.length === 0 && changed === null && !sweep;
    others.push(isUsual ? null : rest);
    return this.#shared.packed(others);
  }
}

export class RoundUnpacker {
  readonly #shared = new SharedReader();

  unpack(packed: Packed<OpResult | RoundRest>): Round {
    const from = new ByteReader(this.#shared.read(packed));
    const others = packed.others.values();
    const answers: OpResult[] = [];
    for (let left = from.whole(); left > 0; left -= 1) {
      answers.push(takeAnswer(from) ?? (others.next().value as OpResult));
    }
    const pushes: Push[] = [];
    while (!from.isAtEnd) {
      pushes.push({
        op: from.whole(),
        index: from.whole(),
        event: from.number(),
        subscription: from.number(),
        lease: from.number(),
        leasedUntil: from.number(),
      });
    }
    const rest = (others.next().value as RoundRest) ?? usual;
    return { ...rest, answers, pushes };
  }
}

const usual = { wakes: [], changed: null, dropped: [], sweep: false };

/** False: it goes as an object. */
function packAnswer(out: ByteWriter, answer: OpResult): boolean {
  const value = answer.kind === "done" ? answer.value : null;
  const isList = Array.isArray(value) && value.length > 0;
  if (value === undefined) out.byte(answerMarks.nothing);
  else if (isList && value.every((one) => typeof one === "number")) {
    out.byte(answerMarks.numbers);
    out.whole(value.length);
    for (const one of value) out.number(one);
  } else if (isList && value.every((one) => typeof one === "boolean")) {
    out.byte(answerMarks.counted);
    out.whole(value.length);
    for (const one of value) out.byte(one ? 1 : 0);
  } else {
    out.byte(answerMarks.other);
    return false;
  }
  return true;
}

function takeAnswer(from: ByteReader): OpResult | null {
  const mark = from.byte();
  if (mark === answerMarks.nothing) return nothing;
  if (mark === answerMarks.other) return null;
  const count = from.whole();
  const value =
    mark === answerMarks.numbers
      ? takeMany(count, from, takeNumber)
      : takeMany(count, from, takeFlag);
  return { kind: "done", value };
}
