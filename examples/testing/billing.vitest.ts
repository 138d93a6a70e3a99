// The same kit with Vitest.
//
//   vitest run --dir . billing.vitest.ts

import { startPosthorn } from "posthorn/testing";
import { expect, test } from "vitest";

test("billing is not sent what it did not ask for", async () => {
  await using grid = await startPosthorn();
  const billing = await grid.endpoint();
  await grid.topic("orders");
  await grid.subscribe("orders", "billing", billing, {
    properties: { filter: { includedEventTypes: ["Order.Paid"] } },
  });

  const [placed = "", paid = ""] = await grid.publish(
    "orders",
    { eventType: "Order.Placed" },
    { eventType: "Order.Paid" },
  );
  await grid.delivered(paid);

  expect(billing.events.map((event) => event.id)).toEqual([paid]);
  const { unmatched } = await grid.story(placed);
  expect(unmatched[0]?.clause).toContain("includedEventTypes");
});
