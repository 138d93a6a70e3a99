// A broker that is not Azure's in the place of Service Bus: a real RabbitMQ.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { answeredOf, noReplyOf, type SinkWorld, sinkContract } from "../../test/contract/sink.ts";
import { startBus } from "../../test/fixtures/amqp.ts";
import {
  inReverse,
  openSender,
  openSink,
  parcelWith,
  resourceIds,
} from "../../test/fixtures/destination.ts";
import { type RabbitMq, startRabbitMq } from "../../test/fixtures/rabbitmq.ts";
import { freePort, type Scope } from "../../test/fixtures/webhook.ts";
import type { PushDestination } from "../core/subscription.ts";

sinkContract("a queue of an AMQP broker", async (deps): Promise<SinkWorld<PushDestination>> => {
  const own: (() => unknown)[] = [];
  const bus = await startBus({ after: (end) => own.push(end) });
  const serviceBusNamespaces = {
    bus: { amqp: `amqp://127.0.0.1:${new URL(bus.endpoint).port}` },
    nobody: { amqp: `amqp://127.0.0.1:${await freePort()}` },
  };
  return {
    sink: openSink(deps, { serviceBusNamespaces }),
    destination: queue("orders"),
    nowhere: { kind: "serviceBusQueue", resourceId: resourceIds.busQueue("nobody", "orders") },
    // Each event is a message of its own.
    received: () => {
      const came = bus.transfers.flatMap(({ messages }) => messages.map(({ body }) => body));
      return came.length === 0 ? [] : [came];
    },
    behave: (how) =>
      bus.behave(
        how === "refuse" ? { condition: "amqp:resource-locked", description: "Later." } : how,
      ),
    reached: bus.reached,
    release: bus.release,
    closeEndpoint: async () => {
      for (const end of own) await end();
    },
    breaksSilently: true,
  };
});

const ends: (() => unknown)[] = [];
let rabbit: RabbitMq;

before(async () => {
  rabbit = await startRabbitMq({ after: (end) => void ends.push(end) });
});

after(async () => {
  for (const end of ends) await end();
});

const queue = (name: string): PushDestination => ({
  kind: "serviceBusQueue",
  resourceId: resourceIds.busQueue("bus", name),
});

function open(t: Scope, bus: object) {
  return openSender(inReverse(t), { serviceBusNamespaces: { bus } });
}

/** Addresses of RabbitMQ 3. */
const addresses = { queueAddress: "/queue/{name}", topicAddress: "/exchange/{name}/any" };

test("a queue of RabbitMQ gets the message that Service Bus would get (C-1)", async (t) => {
  const { send } = open(t, { amqp: rabbit.url, ...addresses });
  const parcel = parcelWith('{"id":"a","data":{"n":1}}', {
    headers: [
      { name: "CorrelationId", kind: "dynamic", sourceField: "id" },
      { name: "tenant", kind: "static", value: "contoso", isSecret: false },
    ],
  });
  assert.equal(answeredOf(await send(queue("orders"), { parcel })).status, 200);
  assert.equal(answeredOf(await send(queue("orders"))).status, 200, "over the same link");
  const [first, second] = await (await rabbit.listen("/queue/orders", 2)).messages();
  assert.ok(first);
  const { content } = first.body as { content: Buffer };
  assert.equal(content.toString(), '{"id":"a","data":{"n":1}}');
  assert.equal(first.content_type, "application/json; charset=utf-8");
  assert.equal(first.correlation_id, "a");
  assert.equal(first.message_id, "event-1");
  assert.partialDeepStrictEqual(first.application_properties, {
    tenant: "contoso",
    "aeg-event-type": "Notification",
    "aeg-delivery-count": "0",
  });
  assert.ok(second);
});

test("a topic is an address of its own: in RabbitMQ an exchange", async (t) => {
  const { send } = open(t, { amqp: rabbit.url, ...addresses });
  const topic = (name: string): PushDestination => ({
    kind: "serviceBusTopic",
    resourceId: resourceIds.busTopic("bus", name),
  });
  const listener = await rabbit.listen("/exchange/amq.fanout/any", 1);
  assert.equal(answeredOf(await send(topic("amq.fanout"))).status, 200);
  assert.equal((await listener.messages()).length, 1);
});

test("what the broker says no to has the status that the service has for it", async (t) => {
  const missing = open(t, { amqp: rabbit.url, queueAddress: "/exchange/{name}/any" });
  assert.equal(answeredOf(await missing.send(queue("nobody"))).status, 404);
  assert.equal(answeredOf(await missing.send(queue("nobody"))).status, 404, "and the next, too");
  assert.equal(answeredOf(await missing.send(queue("amq.fanout"))).status, 200);
  const url = rabbit.url.replace("guest:guest", "guest:wrong");
  const wrong = open(t, { amqp: url, ...addresses });
  assert.equal(answeredOf(await wrong.send(queue("orders"))).status, 401);
  const nobody = open(t, { amqp: `amqp://127.0.0.1:${await freePort()}` });
  assert.equal(noReplyOf(await nobody.send(queue("orders"))).why, "connection");
});
