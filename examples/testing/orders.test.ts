// A test of your own with node:test: what does my code do when the warehouse is away for a while?
// The clock is virtual, so that hours pass in milliseconds.
//
//   node --test orders.test.ts

import assert from "node:assert/strict";
import { test } from "node:test";
import { startPosthorn } from "posthorn/testing";

test("an order reaches the warehouse although it is away for an hour", async () => {
  await using grid = await startPosthorn();
  const warehouse = await grid.endpoint();
  warehouse.otherwise(503);
  await grid.topic("orders");
  await grid.subscribe("orders", "warehouse", warehouse);

  await grid.publish("orders", { eventType: "Order.Placed", data: { sku: "A1" } });
  await grid.advance("1h");
  warehouse.otherwise(200);
  await grid.advance("1h");

  const [event] = await warehouse.received({ type: "Order.Placed" });
  assert.deepEqual(event?.data, { sku: "A1" });
  await grid.nothingElse();
});

test("an order that the warehouse cannot read is kept for a person", async () => {
  await using grid = await startPosthorn();
  const warehouse = await grid.endpoint();
  warehouse.otherwise(400);
  await grid.topic("orders");
  await grid.subscribe("orders", "warehouse", warehouse, { deadLetter: true });

  const [id = ""] = await grid.publish("orders", { data: "unreadable" });
  await grid.attempted(id, 1);
  await grid.advance("5m");
  await grid.deadLettered(id);

  const [letter] = await grid.deadLetters();
  assert.equal(letter?.deadLetterReason, "UndeliverableDueToHttpBadRequest");
});
