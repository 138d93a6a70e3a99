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
  const open = (broker: string) => {
    const cut = { isCut: false };
    const through = <T>(act: () => Promise<T>) =>
      cut.isCut ? Promise.reject(new Error("no way to the database")) : act();
    const own = new Set<Slot>();
    const told = { lost: 0 };
    let release = () => Promise.resolve();
    const listener: SlotListener = {
      gained: (slots) => slots.forEach((slot) => void own.add(slot)),
      release: async (slots) => {
        await release();
        for (const slot of slots) own.delete(slot);
      },
      lost: (slots) => {
        told.lost += slots.length;
        for (const slot of slots) own.delete(slot);
      },
      loads: () => new Map(),
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
    keeper.listen(listener);
    const mine = () => everySlot.filter((slot) => keeper.isMine(slot)).length;
    const hold = (until: Promise<void>) => {
      release = () => until;
    };
    return { keeper, cut, own, told, mine, hold };
  };
  const pass = (ms: number) => clock.run(clock.now() + ms);
  return { clock, table, open, pass };
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
  await pass(usualRhythm.leaseMs + usualRhythm.beatMs);
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
