// What is sent between threads comes out unchanged.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Stage } from "../../core/delivery/delivery.ts";
import type { InputSchema } from "../../core/event.ts";
import type { Routed, Settlement } from "../../core/ports.ts";
import { EntryWriter, readEntries } from "./journal-record.ts";
import { OpsPacker, OpsUnpacker, RoundPacker, RoundUnpacker } from "./pack.ts";
import type { Op, OpResult, Push, Round } from "./round.ts";

const number = fc.integer({ min: 0 });
const text = fc.string({ unit: "grapheme" });
const stage = fc.constantFrom<Stage>("deliver", "deadLetter");

const routed: fc.Arbitrary<Routed> = record({
  event: record({
    systemId: text,
    topic: text,
    publishedAt: number,
    schema: fc.constantFrom<InputSchema>("EventGridSchema", "CustomEventSchema"),
    dataVersion: text,
    text,
    envelope: fc.option(text),
    hops: fc.nat(16),
    trace: fc.option(
      fc.record({ parent: text, state: fc.option(text) }, { noNullPrototype: true }),
    ),
  }),
  to: fc.array(number, { maxLength: 3 }),
});

const delivery = record({ event: number, subscription: number });
const settlement: fc.Arbitrary<Settlement> = fc.oneof(
  record({ kind: fc.constantFrom("gone", "back"), delivery, lease: number }),
  record({
    kind: fc.constant("due" as const),
    delivery,
    lease: number,
    at: number,
    stage,
    since: number,
    attempts: number,
    last: fc.option(record({ at: number, number, outcome: text, status: fc.option(number) })),
    reason: fc.option(text),
  }),
);

const op: fc.Arbitrary<Op> = fc.oneof(
  record({
    kind: fc.constant("append" as const),
    now: number,
    by: fc.option(record({ topic: text, mark: number }), { nil: undefined }),
    routed: some(routed),
  }),
  record({ kind: fc.constant("settle" as const), settlements: some(settlement) }),
  record({ kind: fc.constantFrom("counts" as const, "sweep" as const) }),
);

const answer: fc.Arbitrary<OpResult> = fc.oneof(
  record({
    kind: fc.constant("done" as const),
    value: fc.oneof(fc.constant(undefined), some(fc.boolean()), some(number)),
  }),
  record({ kind: fc.constant("failed" as const), reason: text }),
);

const push: fc.Arbitrary<Push> = record({
  op: number,
  index: number,
  event: number,
  subscription: number,
  lease: number,
  leasedUntil: number,
});

const round: fc.Arbitrary<Round> = record({
  answers: some(answer),
  pushes: some(push),
  wakes: some(record({ queue: record({ subscription: number, stage }), dueAt: number })),
  changed: fc.option(record({ topics: some(text), subscriptions: some(number) })),
  dropped: some(record({ subscription: number, count: number })),
  sweep: fc.boolean(),
});

test("operations cross between threads unchanged", () => {
  const [packer, unpacker] = [new OpsPacker(), new OpsUnpacker()];
  const cross = (ops: readonly Op[]) => unpacker.unpack(structuredClone(packer.pack(ops)));
  fc.assert(
    fc.property(some(op), (ops) => {
      assert.deepEqual(cross(ops).map(plain), ops);
    }),
  );
});

test("a large round crosses, and what came before it stays as it was", () => {
  const [packer, unpacker] = [new OpsPacker(), new OpsUnpacker()];
  const cross = (ops: readonly Op[]) => unpacker.unpack(structuredClone(packer.pack(ops)));
  const rounds = [10, 3_000_000, 20, 6_000_000, 30].map((length): Op[] => [
    { kind: "append", now: 1, by: undefined, routed: [routedOf("ä".repeat(length))] },
    { kind: "counts" },
  ]);
  const crossed = rounds.map(cross);
  for (const [index, ops] of rounds.entries()) {
    assert.deepEqual(crossed[index]?.map(plain), ops);
  }
});

test("the journal writes an event from its bytes as it would from its text", () => {
  fc.assert(
    fc.property(routed, number, number, fc.boolean(), (one, now, event, isOneLess) => {
      const append: Op = { kind: "append", now, by: undefined, routed: [one] };
      const [crossed] = new OpsUnpacker().unpack(structuredClone(new OpsPacker().pack([append])));
      const arrived = (crossed as typeof append).routed[0] as Routed;
      const to = isOneLess ? one.to.slice(1) : one.to;
      const [direct, copied] = [new EntryWriter(0), new EntryWriter(0)];
      direct.appended(event, one, now, to);
      copied.appended(event, arrived, now, to);
      assert.deepEqual(copied.bytes, direct.bytes);
      assert.deepEqual([...readEntries(copied.bytes)].length, 1);
    }),
  );
});

test("rounds cross between threads unchanged", () => {
  const [packer, unpacker] = [new RoundPacker(), new RoundUnpacker()];
  fc.assert(
    fc.property(round, (one) => {
      assert.deepEqual(unpacker.unpack(structuredClone(packer.pack(one))), one);
    }),
  );
});

function routedOf(content: string): Routed {
  const ids = { systemId: "1", topic: "orders", publishedAt: 1 };
  const rest = { dataVersion: "", envelope: null, trace: null, hops: 0 };
  return { event: { ...ids, schema: "EventGridSchema", text: content, ...rest }, to: [1] };
}

/** With the events made of their bytes. */
function plain(op: Op): Op {
  if (op.kind !== "append") return op;
  return { ...op, routed: op.routed.map(({ event, to }) => ({ event, to })) };
}

function some<T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T[]> {
  return fc.array(arbitrary, { maxLength: 4 });
}

/** Like what structuredClone makes: with a prototype. */
function record<T extends object>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }) {
  return fc.record<T>(model, { noNullPrototype: true });
}
