// What the contract of sinks does not cover: several kinds of destination at once.

import assert from "node:assert/strict";
import { test } from "node:test";
import { answeredOf, parcelOf } from "../../test/contract/sink.ts";
import { startBus } from "../../test/fixtures/amqp.ts";
import { inReverse, openSender, resourceIds } from "../../test/fixtures/destination.ts";
import { serve } from "../../test/fixtures/webhook.ts";

test("the first events for several services find their clients, loaded at the same time", async (t) => {
  const scope = inReverse(t);
  const bus = await startBus(scope);
  const endpoint = await serve(scope, (response) => response.writeHead(503).end());
  const { connectionString } = bus;
  const at = `http://127.0.0.1:${endpoint.port}/shop`;
  const account =
    "DefaultEndpointsProtocol=http;AccountName=shop;AccountKey=c2VjcmV0;" +
    `BlobEndpoint=${at};QueueEndpoint=${at}`;
  const { send } = openSender(scope, {
    serviceBusNamespaces: { bus: { connectionString } },
    eventHubNamespaces: { hubs: { connectionString } },
    storageAccounts: { shop: { connectionString: account } },
  });
  const parcel = parcelOf(['{"id":"a"}']);
  const outcomes = await Promise.all([
    send(
      {
        ...{ kind: "storageQueue", queueName: "orders", ttlSeconds: null },
        resourceId: resourceIds.queue("shop"),
      },
      { parcel },
    ),
    send({ kind: "serviceBusTopic", resourceId: resourceIds.busTopic("bus", "t") }, { parcel }),
    send({ kind: "eventHub", resourceId: resourceIds.eventHub("hubs", "h") }, { parcel }),
  ]);
  assert.deepEqual(
    outcomes.map((outcome) => answeredOf(outcome).status),
    [503, 200, 200],
  );
});
