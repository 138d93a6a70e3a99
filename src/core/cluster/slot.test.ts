import assert from "node:assert/strict";
import { test } from "node:test";
import { everythingIsMine } from "./ownership.ts";
import { everySlot, homeSlot, servingSlot, slotCount, slotOf } from "./slot.ts";

const webhook = (url: string) => ({ kind: "webhook", url }) as Parameters<typeof slotOf>[0];

test("the slot of an endpoint is written in databases and never changes", () => {
  assert.equal(slotOf(webhook("https://a.example/hook")), 52);
  assert.equal(slotOf(webhook("https://a.example/hook?code=1")), 233);
  assert.equal(slotOf(webhook("")), 1);
});

test("endpoints spread evenly over the slots", () => {
  const perSlot = 100;
  const counts = new Map<number, number>();
  for (let count = 0; count < slotCount * perSlot; count += 1) {
    const slot = slotOf(webhook(`http://10.0.0.${count % 250}:8080/hooks/${count}`));
    counts.set(slot, (counts.get(slot) ?? 0) + 1);
  }
  for (const slot of everySlot) {
    const count = counts.get(slot) ?? 0;
    assert.ok(count > perSlot / 2 && count < perSlot * 2, `slot ${slot} has ${count}`);
  }
});

test("queues that clients fetch from spread by their names, which are case-insensitive", () => {
  const destination = { kind: "pull", lockMs: 60_000 } as const;
  const counts = new Map<number, number>();
  for (let count = 0; count < slotCount * 20; count += 1) {
    const slot = homeSlot({ topic: `shop/t${count % 40}`, name: `queue-${count}`, destination });
    counts.set(slot, (counts.get(slot) ?? 0) + 1);
  }
  assert.equal(counts.size, slotCount);
  assert.ok(Math.max(...counts.values()) < 60, `one has ${Math.max(...counts.values())}`);
  assert.equal(homeSlot({ topic: "shop/orders", name: "billing", destination }), 42);
  assert.equal(homeSlot({ topic: "Shop/Orders", name: "Billing", destination }), 42);
});

test("a subscription is served by the slot it was last handed to", () => {
  const named = { topic: "orders", name: "all", destination: webhook("https://a.example/hook") };
  assert.equal(servingSlot(named), slotOf(named.destination));
  assert.equal(servingSlot({ ...named, slot: 9 }), 9);
});

test("a process alone with its store owns every slot", () => {
  assert.ok(everySlot.every((slot) => everythingIsMine.isMine(slot)));
});
