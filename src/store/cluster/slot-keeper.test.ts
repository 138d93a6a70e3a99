import assert from "node:assert/strict";
import { test } from "node:test";
import { MemorySlotTable } from "../../../test/fixtures/slot-table.ts";
import { SimClock } from "../../../test/sim/clock.ts";
import type { SlotListener } from "../../core/cluster/ownership.ts";
import { everySlot, type Slot } from "../../core/cluster/slot.ts";
import { SlotKeeper, usualRhythm } from "./slot-keeper.ts";

const startAt = Date.UTC(2030, 0, 1);

/** A cluster in memory; each broker counts what its listener was told. */
function cluster() {
  const clock = new SimClock(startAt, () => {});
  const table = new MemorySlotTable(() => clock.now());
  const log = { fact: () => {} };
  /** What slots are made to send in a second. */
  const sends = new Map<Slot, number>();
  const open = (broker: string, { isServing = true } = {}) => {
    const cut = { isCut: false };
    const through = <T>(act: () => Promise<T>) =>
      cut.isCut ? Promise.reject(new Error("no way to the database")) : act();
    const own = new Set<Slot>();
    const told = { lost: 0 };
    const rates = new Map<Slot, number>();
    let readAt = clock.now();
    let release = (_slot: Slot | undefined) => Promise.resolve();
    const listener: SlotListener = {
      gained: (slots, loads) => {
        for (const slot of slots) {
          own.add(slot);
          rates.set(slot, loads.get(slot) ?? 0);
        }
      },
      release: async (slots) => {
        await release(slots[0]);
        for (const slot of slots) own.delete(slot);
      },
      lost: (slots) => {
        told.lost += slots.length;
        for (const slot of slots) own.delete(slot);
      },
      // Smoothed, as they are measured.
      loads: () => {
        const isLater = clock.now() >= readAt + 500;
        if (isLater) readAt = clock.now();
        for (const slot of isLater ? own : []) {
          const before = rates.get(slot) ?? 0;
          rates.set(slot, before + 0.3 * ((sends.get(slot) ?? 0) - before));
        }
        return new Map([...rates].filter(([slot, rate]) => own.has(slot) && rate > 0));
      },
    };
    const keeper = new SlotKeeper({
      ...{ broker, clock, log, rhythm: usualRhythm, handOver: async () => {} },
      elapsed: () => clock.now(),
      table: {
        beat: (self) => through(() => table.beat(self)),
        take: (id, slots) => through(() => table.take(id, slots)),
        free: (id, slots) => through(() => table.free(id, slots)),
        leave: (id) => through(() => table.leave(id)),
        onHint: (hear) =>
          table.onHint(() => {
            if (!cut.isCut) hear();
          }),
      },
    });
    void keeper.begin();
    const serve = () => keeper.listen(listener);
    if (isServing) serve();
    const mine = () => everySlot.filter((slot) => keeper.isMine(slot)).length;
    const hold = (until: Promise<void>, only?: Slot) => {
      release = (slot) => (only === undefined || slot === only ? until : Promise.resolve());
    };
    return { keeper, cut, own, told, mine, hold, serve };
  };
  const pass = (ms: number) => clock.run(clock.now() + ms);
  return { clock, table, open, pass, sends };
}

test("brokers share the slots, and take over from one that dies within the lease", async () => {
  const { open, pass } = cluster();
  const a = open("a");
  await pass(10);
  assert.equal(a.mine(), 256);
  const b = open("b");
  await pass(100);
  assert.deepEqual([a.mine(), b.mine()], [128, 128]);
  b.cut.isCut = true;
  await pass(usualRhythm.leaseMs + 50);
  assert.deepEqual([a.mine(), b.mine()], [256, 0]);
  assert.equal(b.told.lost, 128);
  assert.equal(b.own.size, 0);
});

test("a slot is never two brokers' at once, however a cut falls", async () => {
  const { open, pass, clock } = cluster();
  const brokers = [open("a"), open("b"), open("c")];
  for (let step = 0; step < 400; step += 1) {
    const broker = brokers[step % 3];
    if (broker !== undefined && step % 7 === 0) broker.cut.isCut = !broker.cut.isCut;
    await pass(250);
    for (const slot of everySlot) {
      const owners = brokers.filter(({ keeper }) => keeper.isMine(slot)).length;
      assert.ok(owners <= 1, `${owners} own slot ${slot} at ${clock.now() - startAt}`);
    }
  }
  for (const { cut } of brokers) cut.isCut = false;
  await pass(20_000);
  assert.deepEqual(brokers.map(({ mine }) => mine()).toSorted(), [85, 85, 86]);
});

test("a frozen broker owns nothing when it wakes, before any alarm has rung", async () => {
  const { open, pass, clock } = cluster();
  const a = open("a");
  await pass(10);
  // Time goes on, and not one of its alarms rings.
  const wakesAt = clock.now() + usualRhythm.leaseMs;
  const now = clock.now.bind(clock);
  clock.now = () => wakesAt;
  assert.equal(a.mine(), 0);
  assert.equal(a.keeper.termOf(0), null);
  assert.equal(a.told.lost, 0);
  clock.now = now;
});

test("what still belongs to a broker after a cut is served again, with the same term", async () => {
  const { open, pass } = cluster();
  const a = open("a");
  await pass(10);
  const term = a.keeper.termOf(5);
  a.cut.isCut = true;
  await pass(20_000);
  assert.equal(a.mine(), 0);
  a.cut.isCut = false;
  await pass(1_000);
  assert.equal(a.mine(), 256);
  assert.equal(a.own.size, 256);
  assert.equal(a.keeper.termOf(5), term);
});

test("a broker that leaves keeps its slots until nothing is in flight, and begins nothing", async () => {
  const { open, pass, table } = cluster();
  const [a, b] = [open("a"), open("b")];
  await pass(100);
  const flight = Promise.withResolvers<void>();
  a.hold(flight.promise);
  const left = a.keeper.leave();
  // Longer than a lease: heartbeats go on.
  await pass(3 * usualRhythm.leaseMs);
  assert.deepEqual([a.mine(), b.mine()], [0, 128]);
  assert.equal(table.rows().filter(({ owner }) => owner === "a").length, 128);
  assert.notEqual(a.keeper.termOf([...a.own][0] as Slot), null);
  flight.resolve();
  await pass(10);
  await left;
  assert.equal(b.mine(), 256);
  assert.deepEqual(
    b.keeper.peers().map(({ id }) => id),
    ["b"],
  );
});

test("what a broker that leaves has given away is taken at once, though it waits for the rest", async () => {
  const { open, pass } = cluster();
  const [a, b] = [open("a"), open("b")];
  await pass(100);
  const flight = Promise.withResolvers<void>();
  const [slow] = [...a.own];
  a.hold(flight.promise, slow);
  const left = a.keeper.leave();
  await pass(100);
  assert.deepEqual([a.own.size, b.mine()], [1, 255]);
  flight.resolve();
  await pass(10);
  await left;
  assert.equal(b.mine(), 256);
});

test("a broker is given nothing before it serves", async () => {
  const { open, pass } = cluster();
  const a = open("a");
  await pass(100);
  const b = open("b", { isServing: false });
  await pass(20_000);
  assert.deepEqual([a.mine(), b.mine()], [256, 0]);
  b.serve();
  await pass(100);
  assert.deepEqual([a.mine(), b.mine()], [128, 128]);
});

test("a busy slot takes its load along, so that slots come to rest while it is measured anew", async () => {
  const { open, pass, sends, table } = cluster();
  const brokers = [open("a"), open("b"), open("c")];
  await pass(5_000);
  const busy = [...(brokers[0]?.own ?? [])].slice(0, 6);
  for (const slot of busy) sends.set(slot, 50);
  const terms = () => table.rows().reduce((sum, { term }) => sum + term, 0);
  await pass(20 * usualRhythm.beatMs);
  const shares = brokers.map(({ own }) => busy.filter((slot) => own.has(slot)).length);
  assert.deepEqual(shares, [2, 2, 2]);
  const before = terms();
  await pass(100 * usualRhythm.beatMs);
  assert.equal(terms(), before, "slots move although nothing changes");
  assert.ok(before < 3 * everySlot.length, `${before} changes of owner to come to rest`);
});

for (const [end, how] of [
  ["dies", "cut"],
  ["leaves", "leave"],
] as const) {
  test(`the busy slots of a broker that ${end} are spread by their loads, and move once`, async () => {
    const { open, pass, sends, table } = cluster();
    const [a, ...others] = [open("a"), open("b"), open("c")];
    await pass(5_000);
    // Every second one: as idle ones they would all go to the same broker.
    const busy = [...a.own].toSorted((one, other) => one - other).filter((_, at) => at % 2 === 0);
    busy.splice(4);
    for (const slot of busy) sends.set(slot, 20);
    for (const { own } of others) sends.set([...own][0] as Slot, 80);
    await pass(20 * usualRhythm.beatMs);
    assert.equal(busy.filter((slot) => a.own.has(slot)).length, 4, "80 are sent by each");
    const terms = () => busy.map((slot) => table.rows()[slot]?.term ?? 0);
    const before = terms();
    if (how === "cut") a.cut.isCut = true;
    else await Promise.all([a.keeper.leave(), pass(1_000)]);
    await pass(usualRhythm.leaseMs + 10 * usualRhythm.beatMs);
    const shares = others.map(({ own }) => busy.filter((slot) => own.has(slot)).length);
    assert.deepEqual(shares, [2, 2]);
    assert.deepEqual(
      terms(),
      before.map((term) => term + 1),
    );
  });
}
