// Push from a namespace to Event Hubs: the real program, Microsoft's client of Event Hubs, and a
// stand-in that speaks AMQP to it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { startBus } from "./fixtures/amqp.ts";
import { resourceIds } from "./fixtures/destination.ts";
import { openNamespaceBroker } from "./fixtures/namespace-broker.ts";

test("events of a namespace go to an event hub, and again after it failed (N-55, N-59)", async (t) => {
  const bus = await startBus(t);
  const properties = {
    resourceId: resourceIds.eventHub("hubs", "hub"),
    deliveryAttributeMappings: [{ name: "x-shop", type: "Static", properties: { value: "1" } }],
  };
  const push = { maxDeliveryCount: 3, destination: { endpointType: "EventHub", properties } };
  const broker = await openNamespaceBroker(
    t,
    {
      orders: { subscriptions: { hub: { deliveryConfiguration: { deliveryMode: "Push", push } } } },
    },
    {
      sections: () => ({
        eventHubNamespaces: { hubs: { connectionString: bus.connectionString } },
      }),
    },
  );
  await broker.publish("orders", "a", "b");
  await broker.program.told("delivery.attempted", 2);
  const messages = bus.transfers.flatMap((transfer) => transfer.messages);
  const [first] = messages;
  const told = messages.flatMap(({ body }) => JSON.parse(body)).map(({ id }) => id);
  assert.deepEqual([told.toSorted(), first?.application["x-shop"]], [["a", "b"], "1"]);
  assert.match(String(first?.body), /"specversion":\s*"1\.0"/);
  bus.behave({ condition: "amqp:resource-limit-exceeded", description: "full" });
  const before = bus.transfers.length;
  await broker.publish("orders", "c");
  await broker.advance("PT30M");
  await broker.program.told("delivery.dropped", 1);
  const { deliveries } = await broker.api("/events/c");
  assert.equal(deliveries[0].state, "dropped");
  assert.equal(bus.transfers.length - before, 3);
});
