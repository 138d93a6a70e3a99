// The Azure SDK against a broker inside the test: the client is the one of production, only its
// address is another.
//
//   node --test azure.test.ts

import assert from "node:assert/strict";
import { test } from "node:test";
import { AzureKeyCredential, EventGridPublisherClient } from "@azure/eventgrid";
import { startPosthorn } from "posthorn/testing";

test("what the Azure SDK publishes as CloudEvents arrives as CloudEvents", async () => {
  await using grid = await startPosthorn();
  const endpoint = await grid.endpoint();
  const topic = await grid.topic("orders", { inputSchema: "CloudEventSchemaV1_0" });
  await grid.subscribe("orders", "billing", endpoint, {
    properties: { eventDeliverySchema: "CloudEventSchemaV1_0" },
  });

  const client = new EventGridPublisherClient(
    topic.endpoint,
    "CloudEvent",
    new AzureKeyCredential(topic.key),
    { allowInsecureConnection: true },
  );
  await client.send([{ id: "1", type: "Order.Placed", source: "/shop", data: { price: 7 } }]);
  await grid.delivered("1");

  const [event] = endpoint.events;
  assert.equal(event?.specversion, "1.0");
  assert.deepEqual(event.data, { price: 7 });
});
