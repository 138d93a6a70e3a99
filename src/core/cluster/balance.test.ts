import assert from "node:assert/strict";
import { test } from "node:test";
import { seededChance } from "../../runtime/chance.ts";
import { balance, planFor, type SlotState } from "./balance.ts";
import { everySlot } from "./slot.ts";

const idle = (owner: string | null): readonly SlotState[] =>
  everySlot.map((slot) => ({ slot, owner, load: 0 }));

function sizes(target: ReadonlyMap<number, string>): Record<string, number> {
  const counted: Record<string, number> = {};
  for (const broker of target.values()) counted[broker] = (counted[broker] ?? 0) + 1;
  return counted;
}

function loadsOf(target: ReadonlyMap<number, string>, slots: readonly SlotState[]) {
  const sums = new Map<string, number>();
  for (const { slot, load } of slots) {
    const broker = target.get(slot) as string;
    sums.set(broker, (sums.get(broker) ?? 0) + load);
  }
  return sums;
}

test("the first broker takes everything", () => {
  assert.deepEqual(planFor("a", ["a"], idle(null)), { take: everySlot, give: [] });
});

test("idle slots are spread by their number, and no more of them move than must", () => {
  const joined = balance(["a", "b"], idle("a"));
  assert.deepEqual(sizes(joined), { a: 128, b: 128 });
  const { give, take } = planFor("a", ["a", "b"], idle("a"));
  assert.equal(give.length, 128);
  assert.deepEqual(take, []);
  // What is not free yet is not taken.
  assert.deepEqual(planFor("b", ["a", "b"], idle("a")).take, []);
});

test("the slots of a dead broker go to all others, and theirs do not move", () => {
  const slots = everySlot.map((slot) => ({ slot, owner: "abc"[slot % 3] ?? null, load: 0 }));
  const target = balance(["a", "c"], slots);
  assert.deepEqual(sizes(target), { a: 128, c: 128 });
  for (const { slot, owner } of slots) {
    if (owner !== "b") assert.equal(target.get(slot), owner);
  }
});

test("busy slots are shared by load, a single hot one stays where it is", () => {
  const four = everySlot.map((slot) => ({ slot, owner: "a", load: slot < 4 ? 100 : 0 }));
  const target = balance(["a", "b"], four);
  assert.deepEqual([...loadsOf(target, four).values()], [200, 200]);
  const hot = everySlot.map((slot) => ({ slot, owner: "a", load: slot === 7 ? 1_000 : 0 }));
  assert.equal(balance(["a", "b"], hot).get(7), "a");
});

test("what differs by little is left alone", () => {
  const owners = ["a", "b"];
  const slots = everySlot.map((slot) => ({
    ...{ slot, owner: owners[slot % 2] as string },
    load: slot % 2 === 0 ? 1.1 : 1,
  }));
  for (const broker of owners) {
    assert.deepEqual(planFor(broker, owners, slots), { take: [], give: [] });
  }
});

test("three busy slots of two brokers stay where they are, as their loads change by a tenth", () => {
  const owners = ["a", "b"];
  for (const [one, two, three] of [
    [100, 100, 100],
    [110, 110, 90],
    [90, 110, 90],
    [110, 90, 110],
  ]) {
    const loads = [one, two, three] as number[];
    const slots = everySlot.map((slot) => ({
      ...{ slot, owner: owners[slot % 2 === 0 ? 0 : 1] as string },
      load: slot === 0 ? loads[0] : slot === 2 ? loads[1] : slot === 1 ? loads[2] : 0,
    })) as SlotState[];
    for (const broker of owners) assert.deepEqual(planFor(broker, owners, slots).give, []);
  }
});

test("whatever the rows are: all brokers agree, everything has an owner, and it comes to rest", () => {
  for (let seed = 1; seed <= 200; seed += 1) {
    const chance = seededChance(seed);
    const draw = (purpose: string, below: number) => Math.floor(chance.draw(purpose) * below);
    const brokers = Array.from({ length: 1 + draw("brokers", 5) }, (_, number) => `b${number}`);
    let slots: readonly SlotState[] = everySlot.map((slot) => ({
      slot,
      owner: [...brokers, "dead", null][draw(`owner ${slot}`, brokers.length + 2)] ?? null,
      load: draw(`busy ${slot}`, 3) === 0 ? draw(`load ${slot}`, 200) : 0,
    }));
    let rounds = 0;
    for (;;) {
      const target = balance(brokers, slots);
      assert.equal(target.size, slots.length);
      const plans = brokers.map((broker) => planFor(broker, brokers.toReversed(), slots));
      const moved = plans.flatMap(({ take, give }) => [...take, ...give]);
      assert.equal(new Set(moved).size, moved.length, `seed ${seed}: a slot moves twice`);
      if (moved.length === 0) break;
      slots = slots.map((state) => ({ ...state, owner: target.get(state.slot) as string }));
      rounds += 1;
      assert.ok(rounds < 40, `seed ${seed}: slots move without end`);
    }
    const counts = Object.values(sizes(balance(brokers, slots)));
    const loads = [...loadsOf(balance(brokers, slots), slots).values()];
    const mean = loads.reduce((sum, load) => sum + load, 0) / brokers.length;
    const heaviest = Math.max(...slots.map(({ load }) => load));
    const apart = Math.max(...loads) - Math.min(...loads);
    assert.ok(apart <= heaviest + Math.max(5, mean * 0.2), `seed ${seed}: ${loads}`);
    assert.ok(Math.max(...counts) - Math.min(...counts) <= 1, `seed ${seed}: ${counts}`);
  }
});
