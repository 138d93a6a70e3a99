// The CloudEvents SDK publishes to the real program in each of its modes, and is the judge of what
// an endpoint receives. Its emitter says nothing of errors, so the broker is asked what became of a
// publish.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { CloudEvent, emitterFor, HTTP, httpTransport, Mode } from "cloudevents";
import { type CompatBroker, key1, openCompatBroker } from "./broker.ts";

let broker: CompatBroker;

before(async () => {
  const cloud = {
    inputSchema: "CloudEventSchemaV1_0",
    subscription: { eventDeliverySchema: "CloudEventSchemaV1_0" },
  };
  broker = await openCompatBroker({ binary: cloud, structured: cloud, refused: cloud });
});

after(() => broker?.close());

function emitterTo(topic: string, mode: Mode) {
  const emit = emitterFor(httpTransport(`${broker.http}/topics/${topic}/api/events`), { mode });
  return (event: CloudEvent<unknown>) => emit(event, { headers: { "aeg-sas-key": key1 } });
}

async function received(topic: string): Promise<CloudEvent<unknown>> {
  const [came] = await broker.arrived(topic, 1);
  const { headers, body } = came ?? { headers: {}, body: "" };
  const event = HTTP.toEvent<unknown>({ headers, body });
  const [first] = Array.isArray(event) ? event : [event];
  assert.ok(first instanceof CloudEvent);
  return first;
}

for (const mode of [Mode.BINARY, Mode.STRUCTURED]) {
  test(`an event sent in ${mode} mode arrives as the same event`, async () => {
    const sent = new CloudEvent({
      id: `in-${mode}`,
      source: "/shop",
      type: "Order.Placed",
      subject: "orders/1",
      time: "2030-01-01T00:00:00.000Z",
      datacontenttype: "application/json",
      data: { n: 1, word: "größer" },
      tenant: "blue",
    });
    await emitterTo(mode, mode)(sent);
    const event = await received(mode);
    assert.deepEqual(event.toJSON(), sent.toJSON());
  });
}

test("a publish that is refused says so in a body with the service's error", async () => {
  const emit = emitterFor(httpTransport(`${broker.http}/topics/refused/api/events`));
  const event = new CloudEvent({ source: "/shop", type: "Order.Placed", data: {} });
  const { body } = (await emit(event, { headers: { "aeg-sas-key": "wrong" } })) as { body: string };
  assert.equal((JSON.parse(body) as { error: { code: string } }).error.code, "Unauthorized");
});
