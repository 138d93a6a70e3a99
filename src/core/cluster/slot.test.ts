import assert from "node:assert/strict";
import { test } from "node:test";
import { everythingIsMine } from "./ownership.ts";
import { everySlot, servingSlot, slotCount, slotOf } from "./slot.ts";

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

test("a subscription is served by the slot it was last handed to", () => {
  const destination = webhook("https://a.example/hook");
  assert.equal(servingSlot({ destination }), slotOf(destination));
  assert.equal(servingSlot({ destination, slot: 9 }), 9);
});

test("a process alone with its store owns every slot", () => {
  assert.ok(everySlot.every((slot) => everythingIsMine.isMine(slot)));
});
